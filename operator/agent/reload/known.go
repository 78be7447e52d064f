package reload

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
)

// precision is the precision of ages in memcached's statistics: its clock shows whole seconds, and moves once a second.
const precision = 2 * time.Second

// hasReadCertificates tells whether memcached has certainly read the certificates on disk, and shows them. If it is not certain,
// they are reloaded, which finds out what is wrong.
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
	// Before the first refresh the age is more than that of memcached itself.
	if started, err := l.Started(); err == nil && started.After(refreshed) {
		return started, nil
	}
	return refreshed, nil
}

// hasReadUsers tells whether memcached has certainly read the users on disk, and lets all of them in. It reads them when it
// starts; it does not tell when it reads them again.
func (l *Loop) hasReadUsers(ctx context.Context, users *api.Users) bool {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	started, err := l.Started()
	return err == nil && placed(l.Users).Before(started) && l.admits(ctx, users.All(), nil) == nil
}

// placed returns when the last of files was written or put in place. The kubelet writes files first, and then puts them in
// place by changing the directory. A file without a time counts as placed now; an empty path does not count.
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
