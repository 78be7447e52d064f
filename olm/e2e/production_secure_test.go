//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/e2e/load"
	"github.com/example/memcached-operator/olm/walk"
)

// A cache with TLS and users lets in who may use it, and nobody else; certificate and users are replaced while it is used.
func secured(t *testing.T) {
	authority := newAuthority(t)
	first := certificateFor(t, authority, "secure", time.Hour)
	writeSecret(t, "secure-tls", first.Secret())
	writeSecret(t, "secure-users", userLines("app:first", "other:third"))
	p := produce(t, "secure", 2, "workload: StatefulSet\ntls:\n  secretName: secure-tls\n  clientCertificates: Required\nauth:\n  secretName: secure-users")
	access := clients.Access{Network: p.network, TLS: clientTLS(t, first), User: "app", Password: "first"}

	t.Run("who may not is refused", func(t *testing.T) { p.in(t).refuses(access, first) })
	t.Run("clients in Go and Python use it", func(t *testing.T) { p.in(t).usable(access, first) })
	t.Run("the agent is let in", func(t *testing.T) { p.in(t).measured() })
	t.Run("certificate and users are replaced", func(t *testing.T) { p.in(t).renewed(authority, access) })
}

// hungUp is how a client sees that the server has ended the connection; that nothing answers in time is something else.
const hungUp = "EOF|connection reset by peer|broken pipe"

// attempt is a way to use a cache.
type attempt struct {
	change func(*clients.Access) // What it does otherwise than who may.
	says   string                // A regular expression for the refusal; empty if it has to work.
}

// refuses tries every way that must not work.
func (p *production) refuses(good clients.Access, first *clients.Certificate) {
	p.t.Helper()
	other := certificateFor(p.t, newAuthority(p.t), p.key.Name, time.Hour)
	p.attempts(good, first, map[string]attempt{
		"plain text": {func(a *clients.Access) { a.TLS = nil }, hungUp},
		// memcached says so and hangs up: a client that is just writing hears of the latter alone.
		"no client certificate":       {func(a *clients.Access) { a.TLS.Certificates = nil }, "certificate required|" + hungUp},
		"a certificate of another CA": {showing(clientTLS(p.t, other)), "unknown certificate authority|" + hungUp},
		"a wrong password":            {func(a *clients.Access) { a.Password = "second" }, "authentication failure"},
		"an unknown user":             {func(a *clients.Access) { a.User = "nobody" }, "authentication failure"},
		"nobody":                      {func(a *clients.Access) { a.User = "" }, "CLIENT_ERROR"},
	})
}

// showing is for who shows the client certificate of another configuration.
func showing(config *tls.Config) func(*clients.Access) {
	return func(a *clients.Access) { a.TLS.Certificates = config.Certificates }
}

// attempts tries ways to use the cache, at each node, each after the one that must work.
func (p *production) attempts(good clients.Access, certificate *clients.Certificate, attempts map[string]attempt) {
	t := p.t
	t.Helper()
	for name, attempt := range attempts {
		for _, host := range p.hosts() {
			access := good
			access.TLS = clientTLS(t, certificate)
			if err := storeOne(t.Context(), access, host); err != nil {
				t.Errorf("%s refuses who may: %v", host, err)
			}
			attempt.change(&access)
			err := storeOne(t.Context(), access, host)
			switch {
			case attempt.says == "" && err != nil:
				t.Errorf("%s and %s: %v", host, name, err)
			case attempt.says != "" && (err == nil || !regexp.MustCompile(attempt.says).MatchString(err.Error())):
				t.Errorf("%s and %s: %v, want %q", host, name, err, attempt.says)
			}
		}
	}
}

// Where clients need not show a certificate, one that they show is looked at; and the CA is replaced while the cache is used.
func optionallyCertified(t *testing.T) {
	first := certificateFor(t, newAuthority(t), "optional", time.Hour)
	writeSecret(t, "optional-tls", first.Secret())
	p := produce(t, "optional", 1, "workload: StatefulSet\ntls:\n  secretName: optional-tls\n  clientCertificates: Optional")
	access := clients.Access{Network: p.network, TLS: clientTLS(t, first)}
	second := certificateFor(t, newAuthority(t), "optional", 2*time.Hour)
	attempts := map[string]attempt{
		"plain text":                  {func(a *clients.Access) { a.TLS = nil }, hungUp},
		"no client certificate":       {func(a *clients.Access) { a.TLS.Certificates = nil }, ""},
		"a certificate of another CA": {showing(clientTLS(t, second)), "unknown certificate authority|" + hungUp},
	}
	t.Run("who shows no certificate is let in, who shows a wrong one is not", func(t *testing.T) { p.in(t).attempts(access, first, attempts) })
	t.Run("the CA is replaced", func(t *testing.T) {
		p := p.in(t)
		before := p.pods()
		conn, err := access.Open(t.Context(), p.hosts()[0])
		must(t, err)
		open := p.ask(conn)
		writeSecret(t, "optional-tls", second.Secret())
		access.TLS = clientTLS(t, second)
		must(t, walk.Within(t.Context(), takeover, "a client of the new CA to be let in", func(ctx context.Context) error {
			return storeOne(ctx, access, p.hosts()[0])
		}))
		p.unnoticed("a connection from before", open)
		p.same(before)
		p.measured()
		delete(attempts, "a certificate of another CA") // memcached goes on trusting the CA before.
		p.attempts(access, second, attempts)
	})
}

// storeOne stores an item on a new connection.
func storeOne(ctx context.Context, access clients.Access, host string) error {
	conn, err := access.Open(ctx, host)
	if err != nil {
		return err
	}
	var failed error
	conn.Ask(ctx, func(err error) { failed = err })
	return errors.Join(failed, conn.Close())
}

// measured fails the test unless the agent of every node is let in by memcached and counts.
func (p *production) measured() {
	p.t.Helper()
	for name, pod := range p.pods() {
		must(p.t, walk.Within(p.t.Context(), 30*time.Second, "the metrics of "+name, func(ctx context.Context) error {
			page, err := get(ctx, "http://"+net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(metricsPort))+"/metrics")
			if err == nil && !strings.Contains(page, "\nmemcached_up 1\n") {
				err = errors.New("memcached_up is not 1")
			}
			return err
		}))
	}
}

func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return string(body), errors.Join(err, response.Body.Close())
}

// takeover is how long a Secret may take to be what memcached uses. The kubelet looks at the Secrets of a pod once a minute
// and up to half a minute later, and the agent looks at what the kubelet has written.
const takeover = 2 * time.Minute

// renewed replaces certificate and password while connections are open.
func (p *production) renewed(authority *clients.Authority, access clients.Access) {
	t := p.t
	before := p.pods()
	var open []*load.Load
	for _, host := range p.hosts() {
		conn, err := access.Open(t.Context(), host)
		must(t, err)
		open = append(open, p.ask(conn))
	}
	second := certificateFor(t, authority, p.key.Name, 2*time.Hour)
	writeSecret(t, "secure-tls", second.Secret())
	writeSecret(t, "secure-users", userLines("app:second", "other:third"))

	start, old := time.Now(), access
	access.Password = "second"
	for _, host := range p.hosts() {
		must(t, walk.Within(t.Context(), takeover-time.Since(start), host+" to show the new certificate and know the new password", func(ctx context.Context) error {
			served, err := servedBy(ctx, access, host)
			if err == nil && served != leafOf(t, second).SerialNumber.String() {
				err = fmt.Errorf("it shows the certificate with the serial number %s", served)
			}
			if err != nil {
				return err
			}
			return storeOne(ctx, access, host)
		}))
		t.Logf("%s has the new certificate and the new password after %s", host, time.Since(start).Round(time.Second))
		if err := storeOne(t.Context(), old, host); err == nil || !strings.Contains(err.Error(), "authentication failure") {
			t.Errorf("%s and the old password: %v", host, err)
		}
	}
	p.unnoticed("connections from before", open...)
	p.same(before)
	p.measured()
	access.TLS = clientTLS(t, second)
	p.usable(access, second)
}

// servedBy is the serial number of the certificate that memcached shows.
func servedBy(ctx context.Context, access clients.Access, host string) (string, error) {
	access.User = ""
	conn, err := access.Open(ctx, host)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	secure, ok := conn.Conn.(*tls.Conn)
	if !ok {
		return "", errors.New("it is not a TLS connection")
	}
	return secure.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}
