// Package reload makes memcached read certificates and users that changed on disk, without a restart and without closing a
// connection, and verifies that it did.
//
// It compares the contents of the files every few seconds. That does not depend on how they are replaced (the kubelet swaps a
// symbolic link), misses no change, and costs three small files. At the first check it reloads nothing that memcached has read
// by itself since the files were put in place: an agent is restarted whenever the operator is upgraded, and a reload has risks.
//
//   - Certificates: memcached gets the command refresh_certs. Then its statistics have to say that it read them just now, and
//     over TLS it has to show the new certificate.
//   - Users: memcached gets SIGHUP, on which it acts within a second. Then it has to let in every user of the file, and refuse
//     the old password of each user that was removed or has a new one. It gets no SIGHUP if its version would let nobody in.
//
// A memcached that reads an invalid pair refuses every TLS connection from then on. So the files are verified first: the key
// belongs to the certificate, which is valid now, and signed by the CA for the name by which the agent knows the server. Since
// 1.6.40 memcached reads certificates on SIGHUP as well, so users wait until the certificates on disk are valid.
//
// A memcached that asks clients for certificates can crash when it reads its own during a TLS handshake, and all items are lost:
// it frees the names of the CAs, which the handshake is about to send to the client (load_server_certificates in its tls.c).
// With clients that connected all the time, 7 of 69,925 reloads did that, in 1.6.18, 1.6.38 and 1.6.45; without client
// certificates none of 99,205. So the agent is in no handshake during a reload, and reloads no more often than needed. It cannot
// prevent handshakes of clients. BenchmarkReloadsWhileOthersConnect measures both.
//
// What a reload does not do, seen with 1.6.18 and 1.6.45: memcached trusts a replaced CA, beside the new one, for the
// certificates of clients until it is restarted. And no connection is closed: its user stays logged in, even if removed.
//
// Until memcached has read the new files, the agent connects with the old ones. The connection for refresh_certs stays open
// until that succeeds. One case remains: an agent that is itself restarted between a change of the CA and its reload knows only
// the new CA, and cannot connect to a memcached that still shows a certificate of the old one.
package reload

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/repeat"
)

// What is a kind of reload.
type What string

// The kinds of reloads.
const (
	Certificates What = "certificates"
	Users        What = "users"
)

// Loop checks the files again and again, and reloads what has changed. Its metrics have to be registered before it runs.
type Loop struct {
	// Certificates are the files of memcached's TLS. Without Certificate, they are not reloaded.
	Certificates api.CertificateFiles

	// Users is the path of the users file. Without it, users are not reloaded.
	Users string

	// Dialer reaches memcached. It gets the certificates and users that memcached has read.
	Dialer *memcached.Dialer

	// Hangup sends SIGHUP to memcached.
	Hangup func() error

	// Started returns when memcached started, or shortly before that.
	Started func() (time.Time, error)

	// Interval is the time between two checks.
	Interval time.Duration

	// Logger gets a line for each reload, and for each new reason of a failure.
	Logger *slog.Logger

	metrics metrics
	control *memcached.Conn // For refresh_certs, nil if it is not open.

	mutex    sync.Mutex        // Of progress, which only Run changes.
	progress map[What]progress // By kind.
}

// progress is the state of one kind of reload.
type progress struct {
	applied string // The fingerprint of the files that memcached has read, empty if unknown.
	problem string // Why the last reload failed, empty if it succeeded.
}

// Problem says which files memcached could not take over at the last attempt, and why, in a stable text. It is empty if it has
// taken over all, and before the first check.
func (l *Loop) Problem() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var problems []string
	for _, what := range []What{Certificates, Users} {
		if problem := l.progress[what].problem; problem != "" {
			problems = append(problems, fmt.Sprintf("%s are not reloaded: %s", what, problem))
		}
	}
	return strings.Join(problems, "; ")
}

// Run checks until ctx ends.
func (l *Loop) Run(ctx context.Context) {
	defer l.closeControl()
	repeat.Every(ctx, l.Interval, l.check)
}

// check reloads what has to be reloaded now. The next check repeats what fails.
func (l *Loop) check(ctx context.Context) {
	valid := true
	if l.Certificates.Certificate != "" {
		certificates, err := l.Certificates.Read()
		if err == nil {
			err = certificates.Verify(time.Now(), l.Certificates.ServerName)
		}
		valid = err == nil
		l.update(ctx, Certificates, certificates, err,
			func() bool { return l.hasReadCertificates(ctx, certificates) },
			func() error { return l.reloadCertificates(ctx, certificates) })
	}
	if l.Users != "" {
		users, err := api.ReadUsers(l.Users)
		l.update(ctx, Users, users, err,
			func() bool { return l.hasReadUsers(ctx, users) },
			func() error {
				if !valid {
					return errInvalid
				}
				return l.reloadUsers(ctx, users)
			})
	}
}

// update brings memcached to the files of one kind, whose contents, or the error of reading them, are given. hasRead tells
// whether memcached has read them by itself, and reload makes memcached read them.
func (l *Loop) update(
	ctx context.Context, what What, contents interface{ Fingerprint() string }, err error, hasRead func() bool, reload func() error,
) {
	p := l.progress[what]
	switch {
	case err != nil:
	case p.applied == "" && hasRead():
		l.metrics.settled(what, time.Now())
		l.set(what, progress{applied: contents.Fingerprint()})
		l.Logger.Info("Memcached has read what is on disk already", "what", what)
		return
	case p.applied == contents.Fingerprint() && p.problem == "":
		return
	default:
		l.metrics.begun(what)
		err = reload()
	}
	if ctx.Err() != nil {
		return // The agent ends, which is no failure of memcached.
	}
	if err == nil {
		l.metrics.succeeded(what, time.Now())
		l.set(what, progress{applied: contents.Fingerprint()})
		l.Logger.Info("Memcached has taken over what is on disk", "what", what)
		return
	}
	l.metrics.failed(what)
	if problem := memcached.Brief(err); p.problem != problem {
		l.set(what, progress{applied: p.applied, problem: problem})
		l.Logger.Error("Memcached goes on with what it had: trying again", "what", what, "error", err, "every", l.Interval)
	}
}

func (l *Loop) set(what What, p progress) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.progress == nil {
		l.progress = map[What]progress{}
	}
	l.progress[what] = p
}
