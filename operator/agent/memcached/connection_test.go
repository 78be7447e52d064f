package memcached_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/internal/testkit"
)

// dialer returns a Dialer that uses the current files.
func dialer(t *testing.T, address string, files api.CertificateFiles, users string) *memcached.Dialer {
	t.Helper()
	certificates, err := files.Read()
	if err != nil {
		t.Fatal(err)
	}
	read, err := api.ReadUsers(users)
	if err != nil {
		t.Fatal(err)
	}
	return memcached.NewDialer(address, certificates, read)
}

func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestMemcachedIsReachedOverTLSWithAPassword(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		files := agenttesting.NewAuthority(t).Issue(t, time.Now().Add(time.Hour))
		files["users"] = "first:one\nsecond:two\n"
		volume := agenttesting.NewVolume(t, files)
		server := run.Start(t, append(volume.TLS(), "-Y", volume.File("users"))...)
		d := dialer(t, server.Address, volume.Files(), volume.File("users"))
		conn, err := d.Dial(limited(t))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if version, err := conn.Version(limited(t)); err != nil || version != run.Version {
			t.Errorf("the version is %q, %v, want %q", version, err, run.Version)
		}
		settings, err := conn.Stats(limited(t), "settings")
		if err != nil || settings["ssl_enabled"] != "yes" || settings["auth_enabled_ascii"] != volume.File("users") {
			t.Errorf("the settings are %v, %v", settings, err)
		}
		if served := d.Served(); served == nil || served.Subject.CommonName != agenttesting.ServerName {
			t.Errorf("memcached showed %v", served)
		}
		if err := conn.RefreshCertificates(limited(t)); err != nil {
			t.Error(err)
		}
		for user, want := range map[api.User]error{
			{Name: "second", Password: "two"}:   nil,
			{Name: "second", Password: "three"}: memcached.ErrRejected,
			{Name: "third", Password: "one"}:    memcached.ErrRejected,
		} {
			conn, err := d.DialAs(limited(t), user)
			if !errors.Is(err, want) {
				t.Errorf("the login of %s: %v, want %v", user.Name, err, want)
			}
			if err == nil {
				_ = conn.Close()
			}
		}
	})
}

func TestRefusalsAreExplained(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		authority, stranger := agenttesting.NewAuthority(t), agenttesting.NewAuthority(t)
		files := authority.Issue(t, time.Now().Add(time.Hour))
		files["users"] = "first:one\n"
		volume := agenttesting.NewVolume(t, files)
		strange := agenttesting.NewVolume(t, stranger.Issue(t, time.Now().Add(time.Hour))).Files()
		expired := agenttesting.NewVolume(t, authority.Issue(t, time.Now().Add(-time.Hour)))
		secure := run.Start(t, volume.TLS()...)
		stale := run.Start(t, expired.TLS()...)
		locked := run.Start(t, "-Y", volume.File("users"))
		open := run.Start(t)
		trusting := volume.Files()
		trusting.Certificate, trusting.Key = strange.Certificate, strange.Key
		for name, test := range map[string]struct {
			dialer *memcached.Dialer
			says   string
		}{
			"a server of another CA":             {dialer(t, secure.Address, strange, ""), "certificate signed by unknown authority"},
			"a client certificate of another CA": {dialer(t, secure.Address, trusting, ""), "refused the agent's client certificate"},
			"a server whose certificate expired": {dialer(t, stale.Address, volume.Files(), ""), "expired"},
			"plain text to TLS":                  {dialer(t, secure.Address, api.CertificateFiles{}, ""), "memcached"},
			"TLS to plain text":                  {dialer(t, open.Address, volume.Files(), ""), "TLS"},
			"no password":                        {dialer(t, locked.Address, api.CertificateFiles{}, ""), "give the agent its users file"},
			"a password that nobody asks for":    {dialer(t, open.Address, api.CertificateFiles{}, volume.File("users")), "start it with -Y"},
		} {
			t.Run(name, func(t *testing.T) {
				conn, err := test.dialer.Dial(limited(t))
				if err == nil {
					_, err = conn.Version(limited(t))
					_ = conn.Close()
				}
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("the error is %v, want one with %q", err, test.says)
				}
				// memcached closes a connection in plain text to its TLS port without an answer.
				if err := test.dialer.Alive(limited(t)); err != nil && name != "plain text to TLS" {
					t.Errorf("Alive says that memcached does not answer: %v", err)
				}
			})
		}
		conn, err := dialer(t, open.Address, api.CertificateFiles{}, "").Dial(limited(t))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		var refused *memcached.RefusedError
		if err := conn.RefreshCertificates(limited(t)); !errors.As(err, &refused) {
			t.Errorf("a memcached without TLS does not refuse to read certificates: %v", err)
		}
		if stats, err := conn.Stats(limited(t), ""); err != nil || stats["curr_items"] != "0" {
			t.Errorf("a password was stored as an item: %v items, %v", stats["curr_items"], err)
		}
	})
}

func TestAUnixSocketIsAnAddress(t *testing.T) {
	address := agenttesting.Answer(t, "unix", filepath.Join(t.TempDir(), "socket"), func(conn net.Conn) {
		_, _ = bufio.NewReader(conn).ReadString('\n')
		_, _ = fmt.Fprint(conn, "VERSION 1.2.3\r\n")
	})
	conn, err := dialer(t, address, api.CertificateFiles{}, "").Dial(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if version, err := conn.Version(limited(t)); err != nil || version != "1.2.3" {
		t.Errorf("the version is %q, %v", version, err)
	}
}

// answering serves connections with answer and returns its address.
func answering(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	return agenttesting.Answer(t, "tcp", "127.0.0.1:0", answer)
}

func TestAnyAnswerMeansAlive(t *testing.T) {
	silent := func(conn net.Conn) { _, _ = bufio.NewReader(conn).ReadString(0) }
	full := func(conn net.Conn) { _, _ = fmt.Fprint(conn, "ERROR Too many open connections\r\n") }
	volume := agenttesting.NewVolume(t, agenttesting.NewAuthority(t).Issue(t, time.Now().Add(time.Hour)))
	for name, test := range map[string]struct {
		answer func(net.Conn)
		files  api.CertificateFiles
		alive  bool
	}{
		"one with no connection left":               {answer: full, alive: true},
		"one with no connection left, asked by TLS": {answer: full, files: volume.Files(), alive: true},
		"one that hangs up":                         {answer: func(net.Conn) {}},
		"one that is silent":                        {answer: silent},
		"one that is silent, asked by TLS":          {answer: silent, files: volume.Files()},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := limited(t)
			if !test.alive { // Nothing is going to happen.
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 500*time.Millisecond)
				defer cancel()
			}
			d := dialer(t, answering(t, test.answer), test.files, "")
			if err := d.Alive(ctx); (err == nil) != test.alive {
				t.Errorf("alive: %v", err)
			}
		})
	}
	nobody := dialer(t, testkit.FreeAddress(t), api.CertificateFiles{}, "")
	if err := nobody.Alive(limited(t)); err == nil {
		t.Error("Alive says that an address answers on which nothing listens")
	}
}

func TestAnswersThatAreNotMemcachedsAreErrors(t *testing.T) {
	for name, answer := range map[string]string{
		"a line without end": strings.Repeat("x", 1<<20),
		"another protocol":   "HTTP/1.1 400 Bad Request\r\n",
		"half an answer":     "STAT pid 1\r\nSTAT",
	} {
		t.Run(name, func(t *testing.T) {
			address := answering(t, func(conn net.Conn) {
				_, _ = bufio.NewReader(conn).ReadString('\n')
				_, _ = fmt.Fprint(conn, answer)
			})
			conn, err := dialer(t, address, api.CertificateFiles{}, "").Dial(limited(t))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if stats, err := conn.Stats(limited(t), ""); err == nil {
				t.Errorf("statistics are %v", stats)
			}
		})
	}
}

func TestAMemcachedWithNoConnectionLeftIsAlive(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		volume := agenttesting.NewVolume(t, agenttesting.NewAuthority(t).Issue(t, time.Now().Add(time.Hour)))
		for says, d := range map[string]*memcached.Dialer{
			"Too many open connections":                       dialer(t, run.Start(t, "-c", "64").Address, api.CertificateFiles{}, ""),
			"first record does not look like a TLS handshake": dialer(t, run.Start(t, append(volume.TLS(), "-c", "64")...).Address, volume.Files(), ""),
		} {
			agenttesting.Await(t, "memcached says: "+says, func() error {
				conn, err := d.Dial(limited(t))
				if err == nil {
					t.Cleanup(func() { _ = conn.Close() })
					_, err = conn.Version(limited(t))
				}
				if err == nil || !strings.Contains(err.Error(), says) { // It may hang up before it has read the question.
					return errors.Join(errors.New("it does not"), err)
				}
				return nil
			})
			if err := d.Alive(limited(t)); err != nil {
				t.Errorf("Alive says that memcached does not answer: %v", err)
			}
		}
	})
}

func TestNoHandshakeRunsDuringQuiet(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		volume := agenttesting.NewVolume(t, agenttesting.NewAuthority(t).Issue(t, time.Now().Add(time.Hour)))
		server := run.Start(t, volume.TLS()...)
		d := dialer(t, server.Address, volume.Files(), "")
		impatient, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		reached := errors.New("reached")
		err := d.Quiet(limited(t), func() error {
			if conn, err := d.Dial(impatient); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Dial does not wait: %v, %v", conn, err)
			}
			if err := d.Alive(impatient); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Alive does not wait: %v", err)
			}
			return reached
		})
		if !errors.Is(err, reached) {
			t.Errorf("the error is %v, want that of what was called", err)
		}
		conn, err := d.Dial(limited(t))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := d.Alive(limited(t)); err != nil {
			t.Error(err)
		}
	})
}
