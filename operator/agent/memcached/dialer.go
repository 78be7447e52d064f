// Package memcached connects to memcached, over TCP or a Unix socket, in plain text or TLS, with or without a password, and
// finds and signals its process. What the agent does with memcached lives in other packages.
//
// Facts about memcached, seen with 1.6.18 and 1.6.45:
//
//   - The login is a set of the key "auth". A memcached that asks for no password stores it, password included, as an item that
//     everybody can read. So a connection asks for the version first, and logs in only if that is refused.
//   - A connection outlives every reload, and its user stays logged in when the password changes.
//   - A memcached that has no connection left says so in plain text, even to a client that expects TLS. Any answer shows that it
//     is alive.
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
	// ErrRejected means an unknown user or a wrong password. It does not name the user: everybody can read why a probe fails.
	ErrRejected = errors.New("memcached rejects the user or the password")

	// errOpen means that memcached answers without a password although there are users.
	errOpen = errors.New("memcached asks for no password although a users file is given: start it with -Y, or give none")
)

// allHandshakes is the weight of a call of Quiet in Dialer.handshakes. Each TLS handshake weighs one.
const allHandshakes = math.MaxInt64

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
	d := &Dialer{network: "tcp", address: address, handshakes: semaphore.NewWeighted(allHandshakes)}
	if strings.Contains(address, "/") {
		d.network = "unix"
	}
	d.UseCertificates(certificates)
	d.UseUsers(users)
	return d
}

// Address returns the address that was given to NewDialer.
func (d *Dialer) Address() string { return d.address }

// Certificates returns the certificates that new connections use.
func (d *Dialer) Certificates() *api.Certificates { return d.certificates.Load() }

// UseCertificates sets the certificates of new connections.
func (d *Dialer) UseCertificates(certificates *api.Certificates) { d.certificates.Store(certificates) }

// Users returns the users of whom the first one logs in on new connections.
func (d *Dialer) Users() *api.Users { return d.users.Load() }

// UseUsers makes new connections log in as the first of users.
func (d *Dialer) UseUsers(users *api.Users) { d.users.Store(users) }

// ExpectUsers makes new connections log in as the first of users where the user of UseUsers is rejected: memcached is about to
// read the new users, and does not say when it has.
func (d *Dialer) ExpectUsers(users *api.Users) { d.expected.Store(users) }

// Hold makes Dial and DialAs fail with reason, until it is called with nil. It does not affect Alive.
func (d *Dialer) Hold(reason error) { d.held.Store(&reason) }

// Served returns the certificate that memcached showed last, nil without TLS or before the first connection.
func (d *Dialer) Served() *x509.Certificate { return d.served.Load() }

// Quiet calls do while this Dialer is in no TLS handshake: handshakes under way end first, and new ones wait. It returns the
// error of do, which is not called if ctx ends before.
func (d *Dialer) Quiet(ctx context.Context, do func() error) error {
	if err := d.handshakes.Acquire(ctx, allHandshakes); err != nil {
		return fmt.Errorf("wait for TLS handshakes with memcached at %s to end: %w", d.address, err)
	}
	defer d.handshakes.Release(allHandshakes)
	return do()
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
	raw, err := d.connect(ctx)
	if err != nil {
		return nil, err
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

// Alive returns an error unless memcached answers, no matter what: to refuse TLS or a user is an answer, too. A memcached that
// serves its clients must not be killed because a certificate has expired.
func (d *Dialer) Alive(ctx context.Context) error {
	raw, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer raw.Close()
	recorded := &recorder{Conn: raw}
	conn := newConn(recorded)
	if config := d.certificates.Load().TLS(); config != nil {
		secure := tls.Client(recorded, config)
		err = d.handshake(ctx, secure)
		conn = newConn(secure)
	}
	if err == nil {
		_, err = conn.command(ctx, "version")
	}
	if err != nil && !recorded.received {
		return fmt.Errorf("memcached at %s does not answer: %w", d.address, err)
	}
	return nil
}

func (d *Dialer) connect(ctx context.Context) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, d.network, d.address)
	if err != nil {
		return nil, fmt.Errorf("connect to memcached: %w", err)
	}
	return conn, nil
}

// handshake starts TLS on a connection. It waits for calls of Quiet to end.
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

// recorder is a connection that records whether anything was received.
type recorder struct {
	net.Conn
	received bool
}

func (r *recorder) Read(into []byte) (int, error) {
	n, err := r.Conn.Read(into)
	r.received = r.received || n > 0
	return n, err
}

func newConn(conn net.Conn) *Conn {
	return &Conn{Conn: conn, reader: bufio.NewReader(conn)}
}
