package clients

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// bulkPatience is how long it may take to write or read all items of a server.
const bulkPatience = 3 * time.Minute

// Store writes n items of this many bytes. It does not wait for one answer before it sends the next request, so millions of
// items take seconds. With TLS, memcached 1.6.18 was seen to stop answering a connection that is used like this; 1.6.45 was not.
func (m *Memcached) Store(n, size int) error {
	err := m.bulk(func(out *bufio.Writer) error {
		var value []byte
		for i := range n {
			value = m.value(value[:0], i, size)
			if _, err := fmt.Fprintf(out, "set %s%d 0 0 %d\r\n%s\r\n", itemPrefix, i, len(value), value); err != nil {
				return err
			}
		}
		return nil
	}, func(in *bufio.Reader) error {
		for i := range n {
			answer, err := readLine(in)
			if err == nil && string(answer) != "STORED" {
				err = fmt.Errorf("memcached says %q", answer)
			}
			if err != nil {
				return fmt.Errorf("item %d: %w", i, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store %d items in %s: %w", n, m.name, err)
	}
	return nil
}

// Missing returns how many of the n items of this many bytes that Store wrote are lost or changed.
func (m *Memcached) Missing(n, size int) (int, error) {
	const atOnce = 100
	missing := n
	err := m.bulk(func(out *bufio.Writer) error {
		for i := range n {
			if i%atOnce == 0 {
				_, _ = out.WriteString("get") // Flush returns the first error.
			}
			_, _ = fmt.Fprintf(out, " %s%d", itemPrefix, i)
			if i%atOnce == atOnce-1 || i == n-1 {
				_, _ = out.WriteString("\r\n")
			}
		}
		return nil
	}, func(in *bufio.Reader) error {
		for answered := 0; answered < n; answered += atOnce {
			found, err := m.readItems(in, size)
			if err != nil {
				return err
			}
			missing -= found
		}
		return nil
	})
	if err != nil {
		return n, fmt.Errorf("read the items of %s: %w", m.name, err)
	}
	return missing, nil
}

// readItems reads the answer to one request, and returns how many items in it are as Store wrote them.
func (m *Memcached) readItems(in *bufio.Reader, size int) (found int, err error) {
	var want, got []byte
	for {
		line, err := readLine(in)
		if err != nil || string(line) == "END" {
			return found, err
		}
		words := bytes.Fields(line)
		if len(words) != 4 || string(words[0]) != "VALUE" {
			return found, fmt.Errorf("memcached says %q", line)
		}
		item, err := strconv.Atoi(string(bytes.TrimPrefix(words[1], []byte(itemPrefix))))
		if err != nil {
			return found, fmt.Errorf("memcached returned another item: %q: %w", line, err)
		}
		length, err := strconv.Atoi(string(words[3]))
		if err != nil {
			return found, fmt.Errorf("memcached says %q: %w", line, err)
		}
		got = slices.Grow(got[:0], length+len("\r\n"))[:length+len("\r\n")]
		if _, err := io.ReadFull(in, got); err != nil {
			return found, err
		}
		if want = m.value(want[:0], item, size); bytes.Equal(want, got[:length]) {
			found++
		}
	}
}

// bulk opens a connection, and writes requests while it reads the answers.
func (m *Memcached) bulk(write func(*bufio.Writer) error, read func(*bufio.Reader) error) error {
	const buffer = 1 << 16
	ctx, cancel := context.WithTimeout(context.Background(), bulkPatience)
	defer cancel()
	conn, err := m.access.Dial(ctx, "tcp", host(m.host).String())
	if err != nil {
		return err
	}
	err = conn.SetDeadline(time.Now().Add(bulkPatience))
	written := make(chan error, 1)
	go func() {
		out := bufio.NewWriterSize(conn, buffer)
		written <- errors.Join(write(out), out.Flush())
	}()
	err = errors.Join(err, read(bufio.NewReaderSize(conn, buffer)))
	// Whatever is not written by now never will be: closing ends the writer.
	return errors.Join(err, conn.Close(), <-written)
}

func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	return bytes.TrimRight(line, "\r\n"), err
}

// itemPrefix begins the keys of the items that Store writes. Their numbers follow.
const itemPrefix = "stored-"

// value appends the value of an item. It differs for each item and each server, so that an item in the wrong place counts as
// missing.
func (m *Memcached) value(to []byte, item, size int) []byte {
	start := len(to)
	to = fmt.Appendf(to, "%s %s%d ", m.name, itemPrefix, item)
	for len(to)-start < size {
		to = append(to, 'x')
	}
	return to
}
