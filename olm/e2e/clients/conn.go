package clients

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strings"
	"time"
)

// patience is how long a request may take. A longer one counts as failed.
const patience = 2 * time.Second

// opening is how long Open may take: a lost question to the DNS is repeated after five seconds.
const opening = 10 * time.Second

// Conn is one connection to memcached. It does not reconnect.
type Conn struct {
	net.Conn
	text *textproto.Conn
}

func newConn(conn net.Conn) *Conn { return &Conn{Conn: conn, text: textproto.NewConn(conn)} }

// Open connects to memcached on a host.
func (a Access) Open(ctx context.Context, host string) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, opening)
	defer cancel()
	conn, err := a.Dial(ctx, "tcp", net.JoinHostPort(host, Port))
	if err != nil {
		return nil, err
	}
	return newConn(conn), nil
}

// Command sends a line, and returns the first line of the answer.
func (c *Conn) Command(line string) (string, error) {
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if err := c.text.PrintfLine("%s", line); err != nil {
		return "", err
	}
	return c.text.ReadLine()
}

// Stats returns memcached's statistics of a topic, for example "settings".
func (c *Conn) Stats(topic string) (map[string]string, error) {
	stats := map[string]string{}
	line, err := c.Command("stats " + topic)
	for ; err == nil && line != "END"; line, err = c.text.ReadLine() {
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

// Ask implements Server: it stores an item and reads it. The key has the connection's address, so that connections do not
// overwrite each other's items.
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
	for ; err == nil && answer != "END"; answer, err = c.text.ReadLine() {
		if answer == value {
			value = ""
		}
	}
	if err == nil && value != "" {
		err = errors.New("get: what was stored is not there")
	}
	return err
}
