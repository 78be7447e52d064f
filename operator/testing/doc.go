// Package testing holds what tests of several packages need: objects that are short to write, and golden files. The
// operator itself does not import it.
package testing
