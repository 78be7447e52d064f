package clients

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// patience is how long a request may take. A client that waits longer has been failed.
const patience = 2 * time.Second

// Conn is one connection to memcached, which is never opened anew.
type Conn struct {
	net.Conn
	lines *bufio.Reader
}

// Open connects to memcached on a host.
func (a Access) Open(ctx context.Context, host string) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := a.Dial(ctx, "tcp", net.JoinHostPort(host, Port))
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: conn, lines: bufio.NewReader(conn)}, nil
}

// Command sends a line, and returns the first line of the answer.
func (c *Conn) Command(line string) (string, error) {
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(c.Conn, "%s\r\n", line); err != nil {
		return "", err
	}
	return c.line()
}

func (c *Conn) line() (string, error) {
	line, err := c.lines.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

// Stats returns memcached's statistics of a topic, for example "settings".
func (c *Conn) Stats(topic string) (map[string]string, error) {
	stats := map[string]string{}
	line, err := c.Command("stats " + topic)
	for ; err == nil && line != "END"; line, err = c.line() {
		words := strings.SplitN(line, " ", 3)
		if len(words) != 3 || words[0] != "STAT" {
			return nil, fmt.Errorf("stats %s: memcached says %q", topic, line)
		}
		stats[words[1]] = words[2]
	}
	return stats, err
}

// Name implements Server.
func (c *Conn) Name() string { return "the open connection to " + c.RemoteAddr().String() }

// Ask implements Server: it stores an item and reads it. Others that are asked meanwhile have items of their own.
func (c *Conn) Ask(_ context.Context, done func(error)) { done(c.storeAndRead(time.Now().String())) }

func (c *Conn) storeAndRead(value string) error {
	key := "of-" + c.LocalAddr().String()
	answer, err := c.Command(fmt.Sprintf("set %s 0 0 %d\r\n%s", key, len(value), value))
	if err == nil && answer != "STORED" {
		err = fmt.Errorf("set: memcached says %q", answer)
	}
	if err != nil {
		return err
	}
	answer, err = c.Command("get " + key)
	for ; err == nil && answer != "END"; answer, err = c.line() {
		if answer == value {
			value = ""
		}
	}
	if err == nil && value != "" {
		err = errors.New("get: what was stored is not there")
	}
	return err
}
