package child

import (
	"errors"
	"io"
)

// pipes are the two ends of a connection.
type pipes struct {
	io.ReadCloser
	writer io.WriteCloser
}

func (p *pipes) Write(data []byte) (int, error) { return p.writer.Write(data) }

// Close closes both ends.
func (p *pipes) Close() error { return errors.Join(p.writer.Close(), p.ReadCloser.Close()) }
