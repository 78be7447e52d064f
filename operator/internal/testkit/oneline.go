package testkit

import (
	"strings"
	"testing"
	"unicode"
)

// OneLine fails the test if an error has control characters, such as those that end a line or change a terminal, or nothing to say.
// People read errors in conditions, events and logs.
func OneLine(t *testing.T, err error) {
	t.Helper()
	if err != nil && (err.Error() == "" || strings.ContainsFunc(err.Error(), unicode.IsControl)) {
		t.Errorf("the error is not one line of text: %q", err)
	}
}
