// Package text has the small parts that texts for people are made of: counted
// nouns, lists in words, times, amounts, and command lines quoted for a shell.
package text
