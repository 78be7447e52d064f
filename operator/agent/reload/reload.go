package reload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/repeat"
)

const (
	// verifyTimeout is how long memcached may take until a reload shows.
	verifyTimeout = 5 * time.Second

	// verifyInterval is the time between two attempts to see it.
	verifyInterval = 100 * time.Millisecond

	// clockTick is how long it takes until memcached's clock has moved on, which it does once a second. memcached acts on
	// signals when it does.
	clockTick = 1100 * time.Millisecond

	// refreshAge is the statistic that tells how many seconds ago memcached read its certificates.
	refreshAge = "time_since_server_cert_refresh"
)

var errInvalid = errors.New("the certificates on disk are not sound, and memcached would read them, too: mend them first")

// reloadCertificates makes memcached read its certificates, and lets the dialer use them once it has.
func (l *Loop) reloadCertificates(ctx context.Context, certificates *api.Certificates) error {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	if err := l.openControl(ctx, certificates); err != nil {
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
			l.closeControl()
		}
		return err
	}
	age, err := stats.Int(refreshAge)
	if err != nil {
		return fmt.Errorf("memcached does not say when it read its certificates: %w", err)
	}
	// memcached counts whole seconds, on a clock that moves once a second.
	if longest := int64(time.Since(begin).Seconds()) + 2; age > longest {
		return errors.New("memcached said OK, but by its statistics it has read its certificates earlier, and not again")
	}
	if certificates.TLS() != nil {
		if err := l.shows(ctx, certificates); err != nil {
			return err
		}
	}
	l.Dialer.UseCertificates(certificates)
	l.closeControl()
	return nil
}

// openControl opens the connection for refresh_certs unless it is open. memcached usually expects what was on disk before, but
// it may have read the new files by itself: it was restarted, or acted late on an earlier signal.
func (l *Loop) openControl(ctx context.Context, certificates *api.Certificates) error {
	if l.control != nil {
		return nil
	}
	users := []*api.Users{l.Dialer.Users()}
	if later, err := api.ReadUsers(l.Users); err == nil {
		users = append(users, later)
	}
	var first error
	for _, c := range []*api.Certificates{l.Dialer.Certificates(), certificates} {
		for _, u := range users {
			conn, err := memcached.NewDialer(l.Dialer.Address(), c, u).Dial(ctx)
			if err == nil {
				l.control = conn
				return nil
			}
			if first == nil {
				first = err
			}
		}
	}
	return first
}

// closeControl closes the connection for refresh_certs if it is open.
func (l *Loop) closeControl() {
	if l.control != nil {
		_ = l.control.Close()
		l.control = nil
	}
}

// shows returns an error unless new clients get the new certificate, and memcached accepts theirs. It does not log in, so it
// does not depend on the users that memcached has read.
func (l *Loop) shows(ctx context.Context, certificates *api.Certificates) error {
	dialer := memcached.NewDialer(l.Dialer.Address(), certificates, &api.Users{})
	conn, err := dialer.Dial(ctx)
	if err == nil {
		defer conn.Close()
		_, err = conn.Version(ctx)
	}
	var refused *memcached.RefusedError
	if err != nil && !errors.As(err, &refused) {
		return fmt.Errorf("memcached read its certificates, but now: %w", err)
	}
	if leaf := certificates.Leaf(); leaf != nil && !bytes.Equal(dialer.Served().Raw, leaf.Raw) {
		return errors.New("memcached read its certificates, but shows another one than is on disk: does it read the same files?")
	}
	return nil
}

// reloadUsers makes memcached read its users, and lets the dialer use them once it has.
func (l *Loop) reloadUsers(ctx context.Context, users *api.Users) error {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	// SIGHUP ends a memcached that has only just started. One that answers handles the signal.
	if err := l.Dialer.Alive(ctx); err != nil {
		return err
	}
	if err := l.checkVersion(ctx, users); err != nil {
		return err
	}
	l.Dialer.ExpectUsers(users)
	if err := l.signal(ctx); err != nil {
		return err
	}
	removed := l.Dialer.Users().Missing(users)
	var err error
	repeat.Until(ctx, verifyInterval, func(ctx context.Context) bool {
		err = l.admits(ctx, users.All(), removed)
		return err == nil
	})
	if err == nil {
		l.Dialer.UseUsers(users)
	}
	return err
}

// checkVersion returns an error if memcached would let nobody in with the users, because of its version. memcached tells its version only to
// clients that are logged in. If the agent cannot log in, for example because the password was changed while it was not running, the users
// are reloaded: most versions can read them.
func (l *Loop) checkVersion(ctx context.Context, users *api.Users) error {
	if !users.Unterminated() {
		return nil
	}
	conn, err := l.Dialer.Dial(ctx)
	if err != nil {
		return nil
	}
	defer conn.Close()
	version, err := conn.Version(ctx)
	if err != nil {
		return nil
	}
	return users.CheckVersion(version)
}

// signal sends SIGHUP. If memcached has certificates, which it may read as well, signal waits until it has acted on it.
func (l *Loop) signal(ctx context.Context) error {
	if l.Certificates.Certificate == "" {
		return l.Hangup()
	}
	return l.Dialer.Quiet(ctx, func() error {
		err := l.Hangup()
		if err == nil {
			select {
			case <-ctx.Done():
			case <-time.After(clockTick):
			}
		}
		return err
	})
}

// admits returns an error unless memcached lets in all of present, and none of removed.
func (l *Loop) admits(ctx context.Context, present, removed []api.User) error {
	for i, user := range present {
		err := l.logIn(ctx, user)
		if errors.Is(err, memcached.ErrRejected) {
			err = fmt.Errorf("%w of line %d", err, i+1)
		}
		if err != nil {
			return fmt.Errorf("memcached was told to read its users: %w", err)
		}
	}
	for _, user := range removed {
		switch err := l.logIn(ctx, user); {
		case err == nil:
			return errors.New("memcached was told to read its users, but still lets in a user who was removed, or with the old password")
		case !errors.Is(err, memcached.ErrRejected):
			return fmt.Errorf("memcached was told to read its users: %w", err)
		}
	}
	return nil
}

func (l *Loop) logIn(ctx context.Context, user api.User) error {
	conn, err := l.Dialer.DialAs(ctx, user)
	if err != nil {
		return err
	}
	return conn.Close()
}
