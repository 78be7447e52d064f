package reload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
)

var errUnsound = errors.New("the certificates on disk are not sound, and memcached would read them, too: mend them first")

// refreshAge is the statistic that tells how many seconds ago memcached read its certificates.
const refreshAge = "time_since_server_cert_refresh"

// refresh makes memcached read its certificates again, and the dialer use certificates once it did.
func (l *Loop) refresh(ctx context.Context, certificates *api.Certificates) error {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	if err := l.enterSomehow(ctx, certificates); err != nil {
		return err
	}
	begin := time.Now()
	err := l.Dialer.Quiet(ctx, func() error { return l.control.RefreshCertificates(ctx) })
	var stats memcached.Stats
	if err == nil {
		stats, err = l.control.Stats(ctx, "")
	}
	if err != nil {
		var refused *memcached.RefusedError
		if !errors.As(err, &refused) {
			l.hangUp()
		}
		return err
	}
	age, err := stats.Int(refreshAge)
	if err != nil {
		return fmt.Errorf("memcached does not say when it read its certificates: %w", err)
	}
	// Memcached counts whole seconds, on a clock that moves once a second.
	if longest := int64(time.Since(begin).Seconds()) + 2; age > longest {
		return errors.New("memcached said OK, but by its statistics it has read its certificates earlier, and not again")
	}
	if certificates.TLS() != nil {
		if err := l.shows(ctx, certificates); err != nil {
			return err
		}
	}
	l.Dialer.UseCertificates(certificates)
	l.hangUp()
	return nil
}

// enterSomehow opens the connection for refresh_certs unless it is open. Memcached usually wants what was on disk before,
// but it may have read what is there now: it was restarted, or acted late on an earlier signal.
func (l *Loop) enterSomehow(ctx context.Context, certificates *api.Certificates) error {
	if l.control != nil {
		return nil
	}
	users := []*api.Users{l.Dialer.Users()}
	if later, err := api.ReadUsers(l.Users); err == nil {
		users = append(users, later)
	}
	var failure error
	for _, c := range []*api.Certificates{l.Dialer.Certificates(), certificates} {
		for _, u := range users {
			conn, err := memcached.NewDialer(l.Dialer.Address(), c, u).Dial(ctx)
			if err == nil {
				l.control = conn
				return nil
			}
			if failure == nil {
				failure = err
			}
		}
	}
	return failure
}

// shows says whether new clients are shown the new certificate, and may show theirs. It needs no login: what memcached
// knows of users is none of its business.
func (l *Loop) shows(ctx context.Context, certificates *api.Certificates) error {
	next := memcached.NewDialer(l.Dialer.Address(), certificates, &api.Users{})
	conn, err := next.Dial(ctx)
	if err == nil {
		defer conn.Close()
		_, err = conn.Version(ctx)
	}
	var refused *memcached.RefusedError
	if err != nil && !errors.As(err, &refused) {
		return fmt.Errorf("memcached read its certificates, but now: %w", err)
	}
	if leaf := certificates.Leaf(); leaf != nil && !bytes.Equal(next.Served().Raw, leaf.Raw) {
		return errors.New("memcached read its certificates, but shows another one than is on disk: does it read the same files?")
	}
	return nil
}

// rotate makes memcached read its users again, and the dialer use users once it did.
func (l *Loop) rotate(ctx context.Context, users *api.Users) error {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	// SIGHUP ends a memcached that has only begun to start. One that answers knows what to do.
	if err := l.Dialer.Alive(ctx); err != nil {
		return err
	}
	l.Dialer.ExpectUsers(users)
	if err := l.hangup(ctx); err != nil {
		return err
	}
	gone := l.Dialer.Users().Missing(users)
	for {
		err := l.admits(ctx, users.All(), gone)
		if err == nil {
			l.Dialer.UseUsers(users)
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(verifyInterval):
		}
	}
}

// hangup sends SIGHUP. If memcached has certificates, it also waits until memcached has acted on it: it may read them, too.
func (l *Loop) hangup(ctx context.Context) error {
	if l.Certificates.Certificate == "" {
		return l.Hangup()
	}
	return l.Dialer.Quiet(ctx, func() error {
		err := l.Hangup()
		if err == nil {
			select {
			case <-ctx.Done():
			case <-time.After(tick):
			}
		}
		return err
	})
}

// admits says whether memcached lets in all of present, and none of gone.
func (l *Loop) admits(ctx context.Context, present, gone []api.User) error {
	for _, user := range present {
		if err := l.enter(ctx, user); err != nil {
			return fmt.Errorf("memcached was told to read its users: %w", err)
		}
	}
	for _, user := range gone {
		switch err := l.enter(ctx, user); {
		case err == nil:
			return fmt.Errorf("memcached was told to read its users, but still lets in %q with the old password", user.Name)
		case !errors.Is(err, memcached.ErrRejected):
			return fmt.Errorf("memcached was told to read its users: %w", err)
		}
	}
	return nil
}

func (l *Loop) enter(ctx context.Context, user api.User) error {
	conn, err := l.Dialer.DialAs(ctx, user)
	if err != nil {
		return err
	}
	return conn.Close()
}

// hangUp closes the connection for refresh_certs, if there is one.
func (l *Loop) hangUp() {
	if l.control != nil {
		_ = l.control.Close()
		l.control = nil
	}
}
