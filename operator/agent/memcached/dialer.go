package memcached

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/example/memcached-operator/operator/agent/api"
)

var (
	// ErrRejected says that memcached knows the user not, or with another password.
	ErrRejected = errors.New("memcached rejects the user or the password")

	// errOpen says that memcached answers without a password although there are users.
	errOpen = errors.New("memcached asks for no password although a users file is given: start it with -Y, or give none")
)

// everything is the weight of whoever wants no TLS handshake beside itself, each of which weighs one.
const everything = math.MaxInt64

// Dialer connects to one memcached. The zero value is not usable: see NewDialer.
type Dialer struct {
	network, address string
	certificates     atomic.Pointer[api.Certificates]
	users            atomic.Pointer[api.Users]
	expected         atomic.Pointer[api.Users] // Nil for none.
	served           atomic.Pointer[x509.Certificate]
	held             atomic.Pointer[error]
	handshakes       *semaphore.Weighted
}

// NewDialer returns a Dialer for address: a path with a slash for a Unix socket, else host:port.
func NewDialer(address string, certificates *api.Certificates, users *api.Users) *Dialer {
	d := &Dialer{network: "tcp", address: address, handshakes: semaphore.NewWeighted(everything)}
	if strings.Contains(address, "/") {
		d.network = "unix"
	}
	d.UseCertificates(certificates)
	d.UseUsers(users)
	return d
}

// Address returns what NewDialer was given.
func (d *Dialer) Address() string {
	return d.address
}

// Certificates returns those that new connections use.
func (d *Dialer) Certificates() *api.Certificates {
	return d.certificates.Load()
}

// UseCertificates makes connections from now on use certificates.
func (d *Dialer) UseCertificates(certificates *api.Certificates) {
	d.certificates.Store(certificates)
}

// Users returns those of whom the first logs in on new connections.
func (d *Dialer) Users() *api.Users {
	return d.users.Load()
}

// UseUsers makes connections from now on log in as the first of users.
func (d *Dialer) UseUsers(users *api.Users) {
	d.users.Store(users)
}

// Hold makes Dial and DialAs fail with reason, until it is called with nil. Alive goes on.
func (d *Dialer) Hold(reason error) {
	d.held.Store(&reason)
}

// Quiet calls do while this Dialer is in no TLS handshake: those under way end first, and others wait. It returns the error
// of do, which is not called if ctx ends before.
func (d *Dialer) Quiet(ctx context.Context, do func() error) error {
	if err := d.handshakes.Acquire(ctx, everything); err != nil {
		return fmt.Errorf("wait for TLS handshakes with memcached at %s to end: %w", d.address, err)
	}
	defer d.handshakes.Release(everything)
	return do()
}

// ExpectUsers makes connections from now on log in as the first of users where those of UseUsers are rejected: memcached is
// about to take them over, at a moment that nobody knows.
func (d *Dialer) ExpectUsers(users *api.Users) {
	d.expected.Store(users)
}

// Served returns the certificate that memcached showed last, nil if there was none yet, or there is no TLS.
func (d *Dialer) Served() *x509.Certificate {
	return d.served.Load()
}

// Dial connects, and logs in if there are users. ctx limits only the dialling.
func (d *Dialer) Dial(ctx context.Context) (*Conn, error) {
	user, login := d.users.Load().First()
	conn, err := d.dial(ctx, user, login)
	if expected := d.expected.Load(); expected != nil && errors.Is(err, ErrRejected) {
		user, login = expected.First()
		return d.dial(ctx, user, login)
	}
	return conn, err
}

// DialAs is Dial for a given user. A wrong password is ErrRejected.
func (d *Dialer) DialAs(ctx context.Context, user api.User) (*Conn, error) {
	return d.dial(ctx, user, true)
}

func (d *Dialer) dial(ctx context.Context, user api.User, login bool) (*Conn, error) {
	if reason := d.held.Load(); reason != nil && *reason != nil {
		return nil, *reason
	}
	raw, err := (&net.Dialer{}).DialContext(ctx, d.network, d.address)
	if err != nil {
		return nil, fmt.Errorf("connect to memcached: %w", err)
	}
	conn := newConn(raw)
	if config := d.certificates.Load().TLS(); config != nil {
		secure := tls.Client(raw, config)
		if err := d.handshake(ctx, secure); err != nil {
			_ = raw.Close()
			return nil, err
		}
		d.served.Store(secure.ConnectionState().PeerCertificates[0])
		conn = newConn(secure)
	}
	if login {
		if err := conn.login(ctx, user); err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	return conn, nil
}

// Alive reports whether memcached answers at all, whatever it is: also a refusal of TLS or of an unknown user is an
// answer. A certificate that expired must not get a memcached killed that serves its clients.
func (d *Dialer) Alive(ctx context.Context) error {
	raw, err := (&net.Dialer{}).DialContext(ctx, d.network, d.address)
	if err != nil {
		return fmt.Errorf("connect to memcached: %w", err)
	}
	defer raw.Close()
	heard := &listener{Conn: raw}
	conn := newConn(heard)
	if config := d.certificates.Load().TLS(); config != nil {
		secure := tls.Client(heard, config)
		err = d.handshake(ctx, secure)
		conn = newConn(secure)
	}
	if err == nil {
		_, err = conn.command(ctx, "version")
	}
	if err != nil && !heard.something {
		return fmt.Errorf("memcached at %s does not answer: %w", d.address, err)
	}
	return nil
}

// handshake begins TLS on a connection, unless somebody wants quiet: then afterwards.
func (d *Dialer) handshake(ctx context.Context, conn *tls.Conn) error {
	err := d.handshakes.Acquire(ctx, 1)
	if err == nil {
		err = conn.HandshakeContext(ctx)
		d.handshakes.Release(1)
	}
	if err != nil {
		return fmt.Errorf("speak TLS to memcached at %s: %w", d.address, err)
	}
	return nil
}

// listener notes whether anything was heard from the other side.
type listener struct {
	net.Conn
	something bool
}

func (l *listener) Read(into []byte) (int, error) {
	n, err := l.Conn.Read(into)
	l.something = l.something || n > 0
	return n, err
}

func newConn(conn net.Conn) *Conn {
	return &Conn{Conn: conn, reader: bufio.NewReader(conn)}
}
