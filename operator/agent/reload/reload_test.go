package reload_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/reload"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/internal/testkit"
)

// open returns a connection and a check that it still works.
func open(t *testing.T, dialer *memcached.Dialer) (check func()) {
	t.Helper()
	conn, err := dialer.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return func() {
		t.Helper()
		if _, err := conn.Version(t.Context()); err != nil {
			t.Errorf("a connection was dropped: %v", err)
		}
	}
}

func TestCertificatesAreReplacedWithoutADroppedConnection(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := newSetup(t, run)
		s.startAndAwait(t)
		still := open(t, s.dialer)
		s.change(t, s.authority.Issue(t, time.Now().Add(2*time.Hour)))
		s.awaitReloads(t)
		still()
		if got := s.log.Count("what=certificates"); got != 2 {
			t.Errorf("%d lines about certificates, want one for the start and one for the change", got)
		}
	})
}

// Beside the listener for clients, memcached can have one on the loopback address that speaks plain text.
func TestCertificatesAreReloadedOverPlainText(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := newSetup(t, run)
		plain := testkit.FreeAddress(t)
		s.server.Stop(syscall.SIGTERM)
		s.server = run.Start(t, append(s.volume.TLS(), "-Y", s.volume.File("users"), "-l", "notls:"+plain)...)
		s.loop.Certificates.CA, s.loop.Certificates.ServerName = "", ""
		s.dialer = memcached.NewDialer(plain, &api.Certificates{}, s.dialer.Users())
		s.loop.Dialer = s.dialer
		s.startAndAwait(t)
		s.change(t, s.authority.Issue(t, time.Now().Add(2*time.Hour)))
		s.awaitReloads(t)
	})
}

func TestCertificatesAndUsersAreReplacedTogether(t *testing.T) {
	for name, restart := range map[string]bool{"while memcached runs": false, "while memcached restarts": true} {
		t.Run(name, func(t *testing.T) {
			agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
				s := newSetup(t, run)
				s.startAndAwait(t)
				still := open(t, s.dialer)
				if restart {
					s.server.Stop(syscall.SIGTERM)
				}
				all := agenttesting.NewAuthority(t).Issue(t, time.Now().Add(time.Hour))
				all["users"] = "new:one\n"
				s.change(t, all)
				if restart { // It starts with all of the new files, and knows nothing of the old ones.
					s.server.Restart(t)
				}
				s.awaitReloads(t)
				if !restart {
					still()
				}
			})
		})
	}
}

// A memcached that reads an invalid pair would refuse every new client.
func TestBrokenCertificatesNeverReachMemcached(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := newSetup(t, run)
		s.startAndAwait(t)
		client := s.newClient(t)
		later := time.Now().Add(time.Hour)
		stranger := agenttesting.NewAuthority(t).Issue(t, later)
		for _, broken := range []struct {
			files map[string]string
			says  string
		}{
			{map[string]string{"tls.key": s.authority.Issue(t, later)["tls.key"]}, "are no pair"},
			{map[string]string{"tls.crt": ""}, "is empty"},
			{s.authority.Issue(t, time.Now().Add(-time.Hour)), "expired at"},
			{map[string]string{"tls.crt": stranger["tls.crt"], "tls.key": stranger["tls.key"]}, "not signed by the CA"},
		} {
			s.change(t, broken.files)
			s.awaitProblem(t, reload.Certificates, broken.says)
			if err := connect(t, client); err != nil {
				t.Errorf("%q is on disk, and a client is refused: %v", broken.says, err)
			}
		}
		// Users wait: memcached would read the certificates, too.
		s.change(t, map[string]string{"users": "user:after\nother:same\n"})
		s.awaitProblem(t, reload.Users, "the certificates on disk are not sound")
		if err := connect(t, client); err != nil {
			t.Errorf("the users were reloaded: %v", err)
		}
		s.change(t, s.authority.Issue(t, time.Now().Add(time.Hour)))
		s.awaitReloads(t)
	})
}

func TestUsersAreReplacedWithoutADroppedConnection(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := newSetup(t, run)
		s.startAndAwait(t)
		still := open(t, s.dialer)
		s.change(t, map[string]string{"users": "user:after\nnew:user\n"})
		s.awaitReloads(t)
		still()
		for user, want := range map[api.User]error{
			{Name: "user", Password: "before"}: memcached.ErrRejected,
			{Name: "other", Password: "same"}:  memcached.ErrRejected,
			{Name: "user", Password: "after"}:  nil,
			{Name: "new", Password: "user"}:    nil,
		} {
			conn, err := s.dialer.DialAs(t.Context(), user)
			if !errors.Is(err, want) {
				t.Errorf("the login of %v: %v, want %v", user, err, want)
			}
			if err == nil {
				_ = conn.Close()
			}
		}
		if s.log.Count("before") > 0 || s.log.Count("after") > 0 {
			t.Error("the log holds a password")
		}
	})
}

// Users who stay can log in before memcached has read its users and after: only a removed user shows that it has.
func TestARemovedUserIsRefusedOnceTheReloadIsReported(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := newSetup(t, run)
		s.startAndAwait(t)
		s.change(t, map[string]string{"users": "other:same\n"})
		agenttesting.Await(t, "the reload is reported", func() error {
			return s.shows(t, `memcached_agent_reloads_total{outcome="success",what="users"} 2`)
		})
		s.refuses(t, api.User{Name: "user", Password: "before"})
	})
}

func TestInvalidUsersChangeNothing(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := newSetup(t, run)
		s.startAndAwait(t)
		client := s.newClient(t)
		s.change(t, map[string]string{"users": strings.Repeat("user:after\n", 9)})
		s.awaitProblem(t, reload.Users, "takes at most 8")
		if err := connect(t, client); err != nil {
			t.Errorf("the old password fails: %v", err)
		}
		if err := s.shows(t, `memcached_agent_reload_pending{what="certificates"} 0`); err != nil {
			t.Error(err)
		}
		s.change(t, map[string]string{"users": "user:after\n"})
		s.awaitReloads(t)
	})
}

// memcached 1.6.18 would let nobody in with a file of one line that does not end with a newline.
func TestAUserWithoutANewlineNeverLocksEverybodyOut(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := newSetup(t, run)
		s.startAndAwait(t)
		client := s.newClient(t)
		s.change(t, map[string]string{"users": "user:after"})
		if run.Version != "1.6.18" {
			s.awaitReloads(t)
			return
		}
		s.awaitProblem(t, reload.Users, "does not end with a newline")
		if err := connect(t, client); err != nil {
			t.Errorf("the old password fails: %v", err)
		}
		s.change(t, map[string]string{"users": "user:after\n"})
		s.awaitReloads(t)
	})
}

// An agent that was not running while the only password changed cannot log in, so it cannot ask for memcached's version.
func TestAPasswordThatChangesWhileTheAgentRestartsIsReloaded(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := newSetup(t, run)
		stop := s.startAndAwait(t)
		stop()
		users := "user:after"
		if run.Version == "1.6.18" {
			users += "\n" // It cannot read the line otherwise.
		}
		s.change(t, map[string]string{"users": users})
		s.dialer = s.newClient(t) // As an agent that has been restarted.
		s.loop.Dialer = s.dialer
		s.start(t)
		s.awaitReloads(t)
	})
}

// The answers of memcached are not enough: it answers OK, and handles the signal, but nothing changes.
func TestAMemcachedThatReadsOtherFilesIsReported(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := newSetup(t, run)
		elsewhere := agenttesting.NewVolume(t, s.files)
		s.loop.Certificates, s.loop.Users = elsewhere.Files(), elsewhere.File("users")
		stop := s.start(t)
		agenttesting.Await(t, "the same contents are taken for the same files", func() error {
			return s.shows(t, `memcached_agent_reload_pending{what="certificates"} 0`, `memcached_agent_reload_pending{what="users"} 0`)
		})
		files := s.authority.Issue(t, time.Now().Add(2*time.Hour))
		files["users"] = "user:after\n"
		elsewhere.Replace(t, files)
		s.awaitProblem(t, reload.Certificates, "does it read the same files?")
		s.awaitProblem(t, reload.Users, "memcached was told to read its users: memcached rejects the user")
		stop()
		if err := connect(t, s.dialer); err != nil {
			t.Errorf("the agent cannot connect any more: %v", err)
		}
	})
}

// Not only the agent can send SIGHUP.
func TestMemcachedMayReadItsUsersEarlier(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := newSetup(t, run)
		stop := s.startAndAwait(t)
		s.noSignals.Store(true)
		s.change(t, map[string]string{"users": "user:after\n"})
		s.awaitProblem(t, reload.Users, "may not signal")
		stop()
		clock := s.clock(t)
		if err := s.finder().Hangup(); err != nil {
			t.Fatal(err)
		}
		clock.awaitSignals(t)
		s.change(t, agenttesting.NewAuthority(t).Issue(t, time.Now().Add(time.Hour)))
		s.start(t)
		agenttesting.Await(t, "the certificates are reloaded all the same", func() error {
			return s.shows(t, `memcached_agent_reloads_total{outcome="success",what="certificates"} 2`)
		})
		s.noSignals.Store(false)
		s.awaitReloads(t)
	})
}

func TestASignalThatCannotBeSentIsReportedAndSentLater(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := newSetup(t, run)
		s.noSignals.Store(true)
		s.start(t)
		s.awaitProblem(t, reload.Users, "may not signal")
		agenttesting.Await(t, "the agent tries again", func() error {
			for _, sample := range agenttesting.Metrics(t, s.registry) {
				count, ok := strings.CutPrefix(sample, `memcached_agent_reloads_total{outcome="failure",what="users"} `)
				if ok && len(count) > 1 { // At least ten times.
					return nil
				}
			}
			return errors.New("it does not")
		})
		if lines := s.log.Count("may not signal"); lines != 1 {
			t.Errorf("%d lines about the same failure", lines)
		}
		s.noSignals.Store(false)
		s.awaitReloads(t)
	})
}

// As the runbooks say: only a restart ends the trust in an old CA, and the connections of removed users.
func TestAnOldCAIsTrustedUntilMemcachedIsRestarted(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		s := newSetup(t, run)
		s.startAndAwait(t)
		still := open(t, s.dialer)
		before := agenttesting.NewVolume(t, map[string]string{"tls.crt": s.files["tls.crt"], "tls.key": s.files["tls.key"]})
		all := agenttesting.NewAuthority(t).Issue(t, time.Now().Add(time.Hour))
		all["users"] = "new:one\n"
		s.change(t, all)
		s.awaitReloads(t)
		still()

		shown := s.volume.Files()
		shown.Certificate, shown.Key = before.File("tls.crt"), before.File("tls.key")
		certificates, err := shown.Read()
		if err != nil {
			t.Fatal(err)
		}
		client := memcached.NewDialer(s.server.Address, certificates, s.newClient(t).Users())
		if err := connect(t, client); err != nil {
			t.Errorf("memcached does not trust the old CA any more: say so in the runbooks: %v", err)
		}
		s.server.Stop(syscall.SIGTERM)
		s.server.Restart(t)
		if err := connect(t, client); err == nil || !strings.Contains(err.Error(), "refused the agent's client certificate") {
			t.Errorf("memcached trusts the old CA after a restart: %v", err)
		}
		if err := connect(t, s.newClient(t)); err != nil {
			t.Error(err)
		}
	})
}
