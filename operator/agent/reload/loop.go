package reload

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
)

const (
	// verifyTimeout is how long memcached may take until a reload shows.
	verifyTimeout = 5 * time.Second

	// verifyInterval is the time between two looks whether it does.
	verifyInterval = 100 * time.Millisecond

	// tick is how long it takes until memcached's clock has moved on, which it does once a second. Memcached acts on signals
	// when it does.
	tick = 1100 * time.Millisecond
)

// Loop looks for changes.
type Loop struct {
	// Certificates are the files of memcached's TLS. Without Certificate, there is nothing to reload.
	Certificates api.CertificateFiles

	// Users is the path of the users file. Without it, there is nothing to reload.
	Users string

	// Dialer reaches memcached. It is given what memcached has taken over.
	Dialer *memcached.Dialer

	// Hangup sends SIGHUP to memcached.
	Hangup func() error

	// Started returns when memcached started, or shortly before that.
	Started func() (time.Time, error)

	// Interval is the time between two looks.
	Interval time.Duration

	// Metrics count reloads.
	Metrics *Metrics

	// Logger gets a line for each reload, and for each new reason of a failure.
	Logger *slog.Logger

	control *memcached.Conn

	mutex               sync.Mutex // Of what others may ask for.
	certificates, users progress
}

// Problem says what memcached could not take over when that was last tried, in a text that is the same each time. It is
// empty when it has taken over all, and before the first look.
func (l *Loop) Problem() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var problems []string
	for _, kind := range []struct {
		what    What
		problem string
	}{{Certificates, l.certificates.problem}, {Users, l.users.problem}} {
		if kind.problem != "" {
			problems = append(problems, fmt.Sprintf("%s are not reloaded: %s", kind.what, kind.problem))
		}
	}
	return strings.Join(problems, "; ")
}

// progress is how far one kind of reload has come.
type progress struct {
	applied string // The fingerprint of what memcached has taken over, empty before the first time.
	problem string
}

// Run looks until ctx ends.
func (l *Loop) Run(ctx context.Context) {
	defer l.hangUp()
	ticker := time.NewTicker(l.Interval)
	defer ticker.Stop()
	for {
		l.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look does what is to be done now. What fails is done again at the next look.
func (l *Loop) look(ctx context.Context) {
	sound := true
	if l.Certificates.Certificate != "" {
		certificates, err := l.Certificates.Read()
		if err == nil {
			err = certificates.Verify(time.Now(), l.Certificates.ServerName)
		}
		sound = err == nil
		switch {
		case err != nil:
			l.note(ctx, Certificates, &l.certificates, "", err)
		case l.certificates.unknown() && l.hasReadCertificates(ctx, certificates):
			l.adopt(Certificates, &l.certificates, certificates.Fingerprint())
		case l.certificates.pending(certificates.Fingerprint()):
			l.Metrics.begun(Certificates)
			l.note(ctx, Certificates, &l.certificates, certificates.Fingerprint(), l.refresh(ctx, certificates))
		}
	}
	if l.Users == "" {
		return
	}
	users, err := api.ReadUsers(l.Users)
	switch {
	case err != nil:
		l.note(ctx, Users, &l.users, "", err)
	case l.users.unknown() && l.hasReadUsers(ctx, users):
		l.adopt(Users, &l.users, users.Fingerprint())
	case l.users.pending(users.Fingerprint()):
		l.Metrics.begun(Users)
		if err = errUnsound; sound {
			err = l.rotate(ctx, users)
		}
		l.note(ctx, Users, &l.users, users.Fingerprint(), err)
	}
}

// unknown says that memcached was not seen to have taken over anything yet.
func (p *progress) unknown() bool {
	return p.applied == ""
}

func (p *progress) pending(fingerprint string) bool {
	return p.applied != fingerprint || p.problem != ""
}

// note remembers, logs and counts how an attempt ended. What the end of the program interrupts is no failure.
func (l *Loop) note(ctx context.Context, what What, p *progress, fingerprint string, err error) {
	if ctx.Err() != nil {
		return
	}
	l.Metrics.attempted(what, err == nil, time.Now())
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if err == nil {
		*p = progress{applied: fingerprint}
		l.Logger.Info("Memcached has taken over what is on disk", "what", what)
		return
	}
	if problem := memcached.Brief(err); p.problem != problem {
		p.problem = problem
		l.Logger.Error("Memcached goes on with what it had: trying again", "what", what, "error", err, "every", l.Interval)
	}
}

// adopt remembers and logs what memcached has read by itself.
func (l *Loop) adopt(what What, p *progress, fingerprint string) {
	l.Metrics.settled(what, time.Now())
	l.mutex.Lock()
	defer l.mutex.Unlock()
	*p = progress{applied: fingerprint}
	l.Logger.Info("Memcached has read what is on disk already", "what", what)
}

// What is a kind of reload.
type What string

// The kinds of reloads.
const (
	Certificates What = "certificates"
	Users        What = "users"
)

// Metrics count reloads.
type Metrics struct {
	attempts *prometheus.CounterVec
	pending  *prometheus.GaugeVec
	success  *prometheus.GaugeVec
}

// NewMetrics registers metrics for the given kinds of reloads.
func NewMetrics(registerer prometheus.Registerer, kinds ...What) (*Metrics, error) {
	label := []string{"what"}
	m := &Metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "memcached_agent_reloads_total",
			Help: "Attempts to make memcached take over the certificates or users on disk: outcome is success or failure.",
		}, []string{"what", "outcome"}),
		pending: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "memcached_agent_reload_pending",
			Help: "1 while memcached is not known to use the certificates or users on disk, else 0.",
		}, label),
		success: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "memcached_agent_reload_last_success_timestamp_seconds",
			Help: "When memcached was last seen to take over the certificates or users on disk, in seconds since 1970.",
		}, label),
	}
	for _, collector := range []prometheus.Collector{m.attempts, m.pending, m.success} {
		if err := registerer.Register(collector); err != nil {
			return nil, err
		}
	}
	for _, what := range kinds {
		m.attempts.WithLabelValues(string(what), "success")
		m.attempts.WithLabelValues(string(what), "failure")
		m.pending.WithLabelValues(string(what)).Set(1)
	}
	return m, nil
}

func (m *Metrics) begun(what What) {
	m.pending.WithLabelValues(string(what)).Set(1)
}

func (m *Metrics) attempted(what What, success bool, now time.Time) {
	if success {
		m.attempts.WithLabelValues(string(what), "success").Inc()
		m.settled(what, now)
		return
	}
	m.attempts.WithLabelValues(string(what), "failure").Inc()
	m.pending.WithLabelValues(string(what)).Set(1) // Also when the files could not be read.
}

func (m *Metrics) settled(what What, now time.Time) {
	m.pending.WithLabelValues(string(what)).Set(0)
	m.success.WithLabelValues(string(what)).Set(float64(now.Unix()))
}
