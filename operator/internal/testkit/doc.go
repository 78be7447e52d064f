// Package testkit holds what tests of several packages need: objects that are short to write, golden files, logs to read,
// and polling. The operator itself does not import it.
package testkit
