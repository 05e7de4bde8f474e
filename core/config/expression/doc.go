// Package expression evaluates the expressions of fleet files: what they may refer to,
// the functions, the references to secrets, and how much work all of them may do
// together. It knows the names of declared blocks and nothing of what blocks hold.
package expression
