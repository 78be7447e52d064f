package clients

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
)

// Port is memcached's port in the pods of a cache.
const Port = "11211"

// Access is what an application has to know to use a cache.
type Access struct {
	// Network finds hosts; nil where every host is an address.
	Network *Network

	// TLS is used to connect, nil for plain text. The server's certificate has to be for the host that is connected to.
	TLS *tls.Config

	// User and Password log in; without a user nobody does.
	User, Password string
}

// Dial connects to host:port, and logs in. It is what gomemcache's DialContext asks for.
func (a Access) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := a.connect(ctx, network, address)
	if err != nil || a.User == "" {
		return conn, err
	}
	if deadline, limited := ctx.Deadline(); limited {
		err = conn.SetDeadline(deadline)
	}
	if err == nil {
		err = a.login(conn)
	}
	if err != nil {
		_ = conn.Close() // It is of no use.
		return nil, err
	}
	return conn, nil
}

func (a Access) connect(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	ip, err := a.Network.Lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	address = net.JoinHostPort(ip, port)
	if a.TLS == nil {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	config := a.TLS.Clone()
	config.ServerName = host
	return (&tls.Dialer{Config: config}).DialContext(ctx, network, address)
}

// login sends the first request of a connection: a set of any key, with name and password.
func (a Access) login(conn net.Conn) error {
	secret := a.User + " " + a.Password
	if _, err := fmt.Fprintf(conn, "set auth 0 0 %d\r\n%s\r\n", len(secret), secret); err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	// Nothing follows the answer, so nothing is read that would be missed later.
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	if answer := strings.TrimSpace(answer); answer != "STORED" {
		return fmt.Errorf("log in as %s: memcached says %q", a.User, answer)
	}
	return nil
}
