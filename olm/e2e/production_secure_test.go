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

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/walk"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

// A cache with TLS and users accepts only clients that may use it. Its certificate and users are replaced under load.
func secured(t *testing.T) {
	authority := agenttesting.NewAuthority(t)
	first := certificateFor(t, authority, "secure", time.Hour)
	writeSecret(t, "secure-tls", first)
	writeSecret(t, "secure-users", userLines("app:first", "other:third"))
	p := produce(t, "secure", 2, "workload: StatefulSet\ntls:\n  secretName: secure-tls\n  clientCertificates: Required\nauth:\n  secretName: secure-users")
	access := clients.Access{Network: p.network, TLS: clientTLS(t, first), User: "app", Password: "first"}

	t.Run("unauthorized clients are refused", func(t *testing.T) { p.in(t).refuses(access, first) })
	t.Run("clients in Go and Python use it", func(t *testing.T) { p.in(t).usable(access, first) })
	t.Run("the agent is accepted", func(t *testing.T) { p.in(t).measured() })
	t.Run("nothing is reloaded at the start", func(t *testing.T) { p.in(t).toldNothing() })
	t.Run("certificate and users are replaced", func(t *testing.T) { p.in(t).renewed(authority, access) })
}

// hungUp matches the errors of a client whose connection the server closed. A timeout is another error. It is a refusal only if memcached
// was not restarted.
const hungUp = "EOF|connection reset by peer|broken pipe"

// attempt is a way to use a cache.
type attempt struct {
	change func(*clients.Access) // How it differs from an authorized client.
	says   string                // A regular expression for the refusal. Empty if it must work.
}

// refuses tries every way that must not work.
func (p *production) refuses(good clients.Access, first map[string]string) {
	p.t.Helper()
	other := certificateFor(p.t, agenttesting.NewAuthority(p.t), p.key.Name, time.Hour)
	p.attempts(good, first, map[string]attempt{
		"plain text": {func(a *clients.Access) { a.TLS = nil }, hungUp},
		// memcached sends an alert and closes the connection. A client that is writing may see only the latter.
		"no client certificate":       {func(a *clients.Access) { a.TLS.Certificates = nil }, "certificate required|" + hungUp},
		"a certificate of another CA": {showing(clientTLS(p.t, other)), "unknown certificate authority|" + hungUp},
		"a wrong password":            {func(a *clients.Access) { a.Password = "second" }, "authentication failure"},
		"an unknown user":             {func(a *clients.Access) { a.User = "nobody" }, "authentication failure"},
		"nobody":                      {func(a *clients.Access) { a.User = "" }, "CLIENT_ERROR"},
	})
}

// showing makes a client show the certificate of another configuration.
func showing(config *tls.Config) func(*clients.Access) {
	return func(a *clients.Access) { a.TLS.Certificates = config.Certificates }
}

// attempts tries ways to use each pod of the cache, each after an authorized one.
func (p *production) attempts(good clients.Access, certificate map[string]string, attempts map[string]attempt) {
	t := p.t
	t.Helper()
	before, runs := p.pods(), p.runIDs()
	for name, attempt := range attempts {
		for _, host := range p.hosts() {
			access := good
			access.TLS = clientTLS(t, certificate)
			if err := storeOne(t.Context(), access, host); err != nil {
				t.Errorf("%s refuses an authorized client: %v", host, err)
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
	p.same(before)
	if diff := cmp.Diff(runs, p.runIDs()); diff != "" {
		t.Errorf("memcached was restarted, which looks like a refusal (-before +after):\n%s", diff)
	}
}

// Client certificates are optional, but one that is shown must be valid. The CA is replaced under load.
func optionallyCertified(t *testing.T) {
	first := certificateFor(t, agenttesting.NewAuthority(t), "optional", time.Hour)
	writeSecret(t, "optional-tls", first)
	p := produce(t, "optional", 1, "workload: StatefulSet\ntls:\n  secretName: optional-tls\n  clientCertificates: Optional")
	access := clients.Access{Network: p.network, TLS: clientTLS(t, first)}
	second := certificateFor(t, agenttesting.NewAuthority(t), "optional", 2*time.Hour)
	attempts := map[string]attempt{
		"plain text":                  {func(a *clients.Access) { a.TLS = nil }, hungUp},
		"no client certificate":       {func(a *clients.Access) { a.TLS.Certificates = nil }, ""},
		"a certificate of another CA": {showing(clientTLS(t, second)), "unknown certificate authority|" + hungUp},
	}
	t.Run("no certificate is accepted, a wrong one is refused", func(t *testing.T) { p.in(t).attempts(access, first, attempts) })
	t.Run("the CA is replaced", func(t *testing.T) {
		p := p.in(t)
		before := p.pods()
		conn, err := access.Open(t.Context(), p.hosts()[0])
		must(t, err)
		open := p.ask(conn)
		reloads := p.reloads()
		writeSecret(t, "optional-tls", second)
		p.awaitReloads(reloads)
		access.TLS = clientTLS(t, second)
		if err := storeOne(t.Context(), access, p.hosts()[0]); err != nil {
			t.Errorf("a client of the new CA: %v", err)
		}
		p.unnoticed("a connection from before", open)
		p.same(before)
		p.measured()
		delete(attempts, "a certificate of another CA") // memcached still trusts the previous CA.
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

// measured fails the test unless memcached accepts the agent of every pod, which then serves metrics.
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

// reloadsCounted finds what memcached reloaded, and how often.
var reloadsCounted = regexp.MustCompile(`(?m)^memcached_agent_reloads_total\{outcome="success",what="(\w+)"\} (\d+)$`)

// reloads returns the agents' counts of reloads, by the name of the pod and what was reloaded.
func (p *production) reloads() map[string]int {
	p.t.Helper()
	counts := map[string]int{}
	for name, pod := range p.pods() {
		page, err := get(p.t.Context(), "http://"+net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(metricsPort))+"/metrics")
		must(p.t, err)
		for _, sample := range reloadsCounted.FindAllStringSubmatch(page, -1) {
			count, err := strconv.Atoi(sample[2])
			must(p.t, err)
			counts[name+" "+sample[1]] = count
		}
	}
	if len(counts) == 0 {
		p.t.Fatal("no agent counts reloads")
	}
	return counts
}

// awaitReloads waits until every count of reloads has grown. A client that connects with a certificate before that may make
// memcached crash: see olm/runbooks/MemcachedReloadFailing.md.
func (p *production) awaitReloads(before map[string]int) {
	p.t.Helper()
	must(p.t, walk.Within(p.t.Context(), takeover, "what was changed to be reloaded", func(context.Context) error {
		var missing []string
		for what, now := range p.reloads() {
			if now <= before[what] {
				missing = append(missing, what)
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("not yet: %s", strings.Join(missing, ", "))
		}
		return nil
	}))
}

// toldNothing fails the test if an agent reloaded files that memcached had read at its start.
func (p *production) toldNothing() {
	p.t.Helper()
	for what, count := range p.reloads() {
		if count != 0 {
			p.t.Errorf("%s: %d reloads of what memcached had read", what, count)
		}
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

// takeover is how long memcached may take to use a changed Secret. The kubelet checks the Secrets of a pod once a minute,
// with up to half a minute of delay, and then the agent finds the new files.
const takeover = 2 * time.Minute

// renewed replaces certificate and password while connections are open.
func (p *production) renewed(authority *agenttesting.Authority, access clients.Access) {
	t := p.t
	before := p.pods()
	var open []*clients.Load
	for _, host := range p.hosts() {
		conn, err := access.Open(t.Context(), host)
		must(t, err)
		open = append(open, p.ask(conn))
	}
	second := certificateFor(t, authority, p.key.Name, 2*time.Hour)
	reloads, start, old := p.reloads(), time.Now(), access
	writeSecret(t, "secure-tls", second)
	writeSecret(t, "secure-users", userLines("app:second", "other:third"))
	p.awaitReloads(reloads)
	t.Logf("the new certificate and the new password are in use after %s", time.Since(start).Round(time.Second))

	access.Password = "second"
	for _, host := range p.hosts() {
		if served, err := servedBy(t.Context(), access, host); err != nil || served != readCertificates(t, second).Leaf().SerialNumber.String() {
			t.Errorf("%s shows the certificate with the serial number %s, %v", host, served, err)
		}
		if err := storeOne(t.Context(), access, host); err != nil {
			t.Errorf("%s and the new password: %v", host, err)
		}
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

// servedBy returns the serial number of the certificate that memcached shows.
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
