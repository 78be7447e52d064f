package memcached

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/example/memcached-operator/operator/agent/api"
)

const (
	unauthenticated = "CLIENT_ERROR unauthenticated"
	rejected        = "CLIENT_ERROR authentication failure"
)

// MaxAnswer is how many bytes of an answer are read, so that something else in memcached's place cannot fill the agent's memory. The
// longest one, that about slabs, has some ten thousands.
const MaxAnswer = 1 << 20

// ErrBusy says that memcached has not finished the last command of this kind: repeat it later.
var ErrBusy = errors.New("memcached is busy with the last page")

// Conn is a connection to memcached on which the user is logged in. Use it either as a net.Conn or by its methods, and from one
// goroutine at a time. After an error of a method other than RefusedError, close it.
type Conn struct {
	net.Conn
	reader *bufio.Reader
}

// RefusedError is an answer by which memcached refuses a command. The connection stays usable.
type RefusedError struct {
	Command, Answer string
}

// Error implements error.
func (e *RefusedError) Error() string {
	if e.Answer == unauthenticated {
		return fmt.Sprintf("memcached refuses %q without a password: give the agent its users file", e.Command)
	}
	return fmt.Sprintf("memcached refuses %q: %s", e.Command, e.Answer)
}

// Stats are memcached's statistics by name.
type Stats map[string]string

// Int returns a statistic that is a whole number.
func (s Stats) Int(name string) (int64, error) {
	value, err := strconv.ParseInt(s[name], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("memcached's statistic %s is no whole number: %q", name, s[name])
	}
	return value, nil
}

// Ints reads statistics that are whole numbers into variables. The error is about the first name in alphabetical order.
func (s Stats) Ints(into map[string]*int64) (err error) {
	for _, name := range slices.Sorted(maps.Keys(into)) {
		if *into[name], err = s.Int(name); err != nil {
			return err
		}
	}
	return nil
}

// Read implements net.Conn.
func (c *Conn) Read(into []byte) (int, error) {
	return c.reader.Read(into)
}

// Version returns memcached's version, for example 1.6.45.
func (c *Conn) Version(ctx context.Context) (string, error) {
	answer, err := c.command(ctx, "version")
	if err != nil {
		return "", err
	}
	version, ok := strings.CutPrefix(answer, "VERSION ")
	if !ok {
		return "", &RefusedError{Command: "version", Answer: answer}
	}
	return version, nil
}

// Stats returns memcached's statistics of a topic, for example "settings", or the general ones without a topic.
func (c *Conn) Stats(ctx context.Context, topic string) (Stats, error) {
	command := strings.TrimSpace("stats " + topic)
	answer, err := c.command(ctx, command)
	if err != nil {
		return nil, err
	}
	defer c.limit(ctx)()
	stats := Stats{}
	for left := MaxAnswer; answer != "END"; left -= len(answer) + len("\r\n") {
		line, ok := strings.CutPrefix(answer, "STAT ")
		switch {
		case !ok:
			return nil, &RefusedError{Command: command, Answer: answer}
		case left < 0:
			return nil, errors.New("the answer is not memcached's: it is too long")
		}
		name, value, _ := strings.Cut(line, " ")
		stats[name] = value
		if answer, err = c.line(); err != nil {
			return nil, fmt.Errorf("read memcached's statistics: %w", err)
		}
	}
	return stats, nil
}

// RefreshCertificates makes memcached read its certificate files again. Open connections are not affected. A memcached that
// cannot use the files refuses, and from then on refuses every new TLS connection until it can: verify the files first, and
// keep the connection to try again.
func (c *Conn) RefreshCertificates(ctx context.Context) error {
	return c.execute(ctx, "refresh_certs")
}

// SetMemoryLimit changes memcached's -m, in MiB. memcached keeps memory that it has taken already: see ReleasePage.
func (c *Conn) SetMemoryLimit(ctx context.Context, mebibytes int64) error {
	return c.execute(ctx, fmt.Sprintf("cache_memlimit %d", mebibytes))
}

// ReleasePage makes memcached begin to release a page of memory of a slab class, if it has taken more than its limit. It moves
// or evicts the items of the page meanwhile, and until it is done it refuses the next page with ErrBusy.
func (c *Conn) ReleasePage(ctx context.Context, class string) error {
	err := c.execute(ctx, fmt.Sprintf("slabs reassign %s 0", class))
	var refused *RefusedError
	if errors.As(err, &refused) && strings.HasPrefix(refused.Answer, "BUSY") {
		return ErrBusy
	}
	return err
}

// AwaitEnd waits until ctx ends, or memcached closes the connection because it ends. Nothing but Close can follow.
func (c *Conn) AwaitEnd(ctx context.Context) {
	defer c.limit(ctx)()
	_, _ = c.line() // memcached says nothing that it is not asked.
}

// execute sends a command that memcached answers with OK.
func (c *Conn) execute(ctx context.Context, command string) error {
	answer, err := c.command(ctx, command)
	if err == nil && answer != "OK" {
		err = &RefusedError{Command: command, Answer: answer}
	}
	return err
}

// login makes memcached accept further commands.
func (c *Conn) login(ctx context.Context, user api.User) error {
	answer, err := c.command(ctx, "version")
	switch {
	case err != nil:
		return err
	case strings.HasPrefix(answer, "VERSION "):
		return errOpen
	case answer != unauthenticated:
		return &RefusedError{Command: "version", Answer: answer}
	}
	login := user.Name + " " + user.Password
	answer, err = c.command(ctx, fmt.Sprintf("set auth 0 0 %d\r\n%s", len(login), login))
	switch {
	case err != nil:
		return err
	case answer == rejected:
		return ErrRejected
	case answer != "STORED":
		return &RefusedError{Command: "set auth", Answer: answer}
	}
	return nil
}

// command sends one command and returns the first line of the answer.
func (c *Conn) command(ctx context.Context, command string) (string, error) {
	defer c.limit(ctx)()
	_, err := fmt.Fprintf(c.Conn, "%s\r\n", command)
	line := ""
	if err == nil {
		line, err = c.line()
	}
	if _, secure := c.Conn.(*tls.Conn); err != nil && secure {
		// In TLS 1.3 the client's handshake ends before the server has verified the client's certificate.
		return "", fmt.Errorf("ask memcached, which may have refused the agent's client certificate: %w", err)
	}
	if err != nil {
		return "", fmt.Errorf("ask memcached: %w", err)
	}
	return line, nil
}

// line reads a line without its end.
func (c *Conn) line() (string, error) {
	line, err := c.reader.ReadSlice('\n') // It reads no more than the buffer, even if the other side is not memcached.
	text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		err = errors.New("the answer is not memcached's: a line is too long")
	case err == nil && strings.ContainsFunc(text, unicode.IsControl):
		err = errors.New("the answer is not memcached's: it has control characters")
	}
	return text, err
}

// limit makes reads and writes fail once ctx ends, until the returned function is called.
func (c *Conn) limit(ctx context.Context) func() {
	past := time.Unix(1, 0)
	_ = c.SetDeadline(time.Time{}) // A closed connection fails at its next use.
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(past) })
	return func() { stop() }
}
