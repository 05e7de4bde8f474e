// Package render shows what the API answers to people: one function for each thing that
// a command shows, from the API's types to text. It reads no state, asks for nothing, and
// decides nothing.
package render
