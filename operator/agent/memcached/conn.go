package memcached

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
)

const (
	unauthenticated = "CLIENT_ERROR unauthenticated"
	rejected        = "CLIENT_ERROR authentication failure"
)

// ErrBusy says that memcached is still at it, and takes the next order of this kind later.
var ErrBusy = errors.New("memcached is busy with the last page")

// Conn is a connection to memcached on which the user is logged in. It is either used as a net.Conn or by its methods,
// and by one goroutine at a time. After an error of a method other than RefusedError, close it.
type Conn struct {
	net.Conn
	reader *bufio.Reader
}

// RefusedError is an answer of memcached that says no. The connection is still good.
type RefusedError struct {
	// Command is what memcached was asked.
	Command string

	// Answer is its answer.
	Answer string
}

// Error implements error.
func (e *RefusedError) Error() string {
	if e.Answer == unauthenticated {
		return fmt.Sprintf("memcached refuses %q without a password: give the agent its users file", e.Command)
	}
	return fmt.Sprintf("memcached refuses %q: %s", e.Command, e.Answer)
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

// Stats returns what memcached's stats command says. The topic is empty for its general statistics, or for example
// "settings".
func (c *Conn) Stats(ctx context.Context, topic string) (Stats, error) {
	command := strings.TrimSpace("stats " + topic)
	answer, err := c.command(ctx, command)
	if err != nil {
		return nil, err
	}
	defer c.limit(ctx)()
	stats := Stats{}
	for answer != "END" {
		line, ok := strings.CutPrefix(answer, "STAT ")
		if !ok {
			return nil, &RefusedError{Command: command, Answer: answer}
		}
		name, value, _ := strings.Cut(line, " ")
		stats[name] = value
		if answer, err = c.line(); err != nil {
			return nil, fmt.Errorf("read memcached's statistics: %w", err)
		}
	}
	return stats, nil
}

// RefreshCertificates makes memcached read its certificate files again. Connections that are open are not affected. A
// memcached that cannot use the files refuses, and then also refuses every new TLS connection until it can: check the
// files first, and keep the connection to try again.
func (c *Conn) RefreshCertificates(ctx context.Context) error {
	return c.order(ctx, "refresh_certs")
}

// SetMemoryLimit changes memcached's -m, in MiB. Memory that it has taken already stays taken: see ReleasePage.
func (c *Conn) SetMemoryLimit(ctx context.Context, mebibytes int64) error {
	return c.order(ctx, fmt.Sprintf("cache_memlimit %d", mebibytes))
}

// ReleasePage makes memcached begin to give back a page of memory of a slab class, if it has taken more than its limit.
// The items of the page are moved or evicted meanwhile, and until then the next page is refused: that is ErrBusy.
func (c *Conn) ReleasePage(ctx context.Context, class string) error {
	err := c.order(ctx, fmt.Sprintf("slabs reassign %s 0", class))
	var refused *RefusedError
	if errors.As(err, &refused) && strings.HasPrefix(refused.Answer, "BUSY") {
		return ErrBusy
	}
	return err
}

// order sends a command that is answered OK.
func (c *Conn) order(ctx context.Context, command string) error {
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
		return fmt.Errorf("%w of %q", ErrRejected, user.Name)
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
		// In TLS 1.3 the client is done before the server has seen its certificate.
		return "", fmt.Errorf("ask memcached, which may have refused the agent's client certificate: %w", err)
	}
	if err != nil {
		return "", fmt.Errorf("ask memcached: %w", err)
	}
	return line, nil
}

// line reads a line without its end.
func (c *Conn) line() (string, error) {
	line, err := c.reader.ReadSlice('\n') // Not longer than the buffer, whatever the other side is.
	if errors.Is(err, bufio.ErrBufferFull) {
		err = errors.New("the answer is not memcached's: a line is too long")
	}
	return strings.TrimRight(string(line), "\r\n"), err
}

// limit makes reads and writes fail once ctx ends, until what it returns is called.
func (c *Conn) limit(ctx context.Context) func() {
	past := time.Unix(1, 0)
	_ = c.SetDeadline(time.Time{}) // A connection that is closed says so when it is used.
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(past) })
	return func() { stop() }
}
