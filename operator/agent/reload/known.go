package reload

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
)

// precision is how far off the ages are that memcached tells: its clock shows whole seconds, and moves on once a second.
const precision = 2 * time.Second

// hasReadCertificates says whether memcached is known to have read the certificates that are on disk, and shows them. When
// in doubt it has not, and what is wrong comes out when it is told to.
func (l *Loop) hasReadCertificates(ctx context.Context, certificates *api.Certificates) bool {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	read, err := l.lastRefresh(ctx)
	if err != nil || certificates.TLS() != nil && l.shows(ctx, certificates) != nil {
		return false
	}
	return placed(l.Certificates.CA, l.Certificates.Certificate, l.Certificates.Key).Before(read)
}

// lastRefresh returns when memcached read its certificates last, or shortly before that.
func (l *Loop) lastRefresh(ctx context.Context) (time.Time, error) {
	conn, err := l.Dialer.Dial(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer conn.Close()
	stats, err := conn.Stats(ctx, "")
	if err != nil {
		return time.Time{}, err
	}
	age, err := stats.Int(refreshAge)
	if err != nil {
		return time.Time{}, err
	}
	refreshed := time.Now().Add(-time.Duration(age)*time.Second - precision)
	// Before the first refresh it tells an age of more than its own.
	if started, err := l.Started(); err == nil && started.After(refreshed) {
		return started, nil
	}
	return refreshed, nil
}

// hasReadUsers says whether memcached is known to have read the users that are on disk, and lets all of them in. When it
// reads them again it does not tell, but it does when it starts. When in doubt it has not.
func (l *Loop) hasReadUsers(ctx context.Context, users *api.Users) bool {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	started, err := l.Started()
	return err == nil && placed(l.Users).Before(started) && l.admits(ctx, users.All(), nil) == nil
}

// placed returns when the last of files was written or put in place. The kubelet writes files first, and then puts them in
// place by changing the directory. One that cannot be looked at counts as placed now, and an empty path not at all.
func placed(files ...string) time.Time {
	var last time.Time
	for _, file := range files {
		if file == "" {
			continue
		}
		for _, path := range []string{file, filepath.Dir(file)} {
			info, err := os.Stat(path)
			if err != nil {
				return time.Now()
			}
			if info.ModTime().After(last) {
				last = info.ModTime()
			}
		}
	}
	return last
}
