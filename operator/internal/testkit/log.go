package testkit

import (
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Log remembers what is logged while it is read. It is an io.Writer.
type Log struct {
	mutex sync.Mutex
	all   strings.Builder
	to    io.Writer
}

// NewLog returns an empty Log, which shows what is logged until the end of the test.
func NewLog(t testing.TB) *Log {
	l := &Log{to: t.Output()}
	t.Cleanup(func() {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.to = io.Discard // Who still writes then would end all tests.
	})
	return l
}

// Write implements io.Writer.
func (l *Log) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.all.Write(text)
	return l.to.Write(text)
}

// String returns all that was written.
func (l *Log) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.all.String()
}

// Lines returns the lines that hold all parts.
func (l *Log) Lines(parts ...string) []string {
	var found []string
	for line := range strings.Lines(l.String()) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// Count returns how many lines hold all parts.
func (l *Log) Count(parts ...string) int {
	return len(l.Lines(parts...))
}
