package api_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/internal/testkit"
)

var usersFiles = []string{
	"a:b\nc:d\n", "a:b:c\r\n", "a:b", "a:b\n\nc:d\n", ":secret\n", "a:the secret\n", strings.Repeat("a:b\n", 9), "a:b\r\r\n", "a\tb:\x1b\n",
	"a:" + strings.Repeat("p", 252), "a:" + strings.Repeat("p", 253) + "\nb:c\n", "a:b\x00:c\n", "\xff:\xfe\n",
}

// Users that are accepted stay the same when they are written line by line, and are no more than memcached takes. Errors give away
// nothing that is in the file.
func FuzzParseUsers(f *testing.F) {
	for _, seed := range usersFiles {
		f.Add(seed, "1.6.18")
	}
	f.Fuzz(func(t *testing.T, content, version string) {
		users, err := api.ParseUsers("the file", []byte(content))
		testkit.OneLine(t, err)
		if err != nil {
			for line := range strings.Lines(content) {
				if secret := strings.TrimSpace(line); len(secret) > 8 && strings.Contains(err.Error(), secret) {
					t.Errorf("the error gives away %q: %v", secret, err)
				}
			}
			return
		}
		var written strings.Builder
		for _, user := range users.All() {
			if strings.ContainsAny(user.Name+user.Password, " \r\n\x00") || strings.Contains(user.Name, ":") || len(user.Name+user.Password) > 253 {
				t.Errorf("memcached could not let in %q", user)
			}
			written.WriteString(user.Name + ":" + user.Password + "\n")
		}
		again, err := api.ParseUsers("the file", []byte(written.String()))
		if err != nil || !slices.Equal(users.All(), again.All()) || len(users.All()) > 8 {
			t.Errorf("%q becomes %q, %v", users.All(), written.String(), err)
		}
		if (users.Fingerprint() == again.Fingerprint()) != (content == written.String()) {
			t.Errorf("%q and %q have the fingerprints %s and %s", content, written.String(), users.Fingerprint(), again.Fingerprint())
		}
	})
}

// Users that are accepted can log in to every memcached.
func FuzzUsersOfMemcached(f *testing.F) {
	all := agenttesting.All(f)
	for _, seed := range usersFiles {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		users, err := api.ParseUsers("the file", []byte(content))
		if err != nil {
			return
		}
		for _, run := range all {
			if users.CheckVersion(run.Version) != nil {
				continue
			}
			server := run.Start(t, "-Y", agenttesting.NewVolume(t, map[string]string{"users": content}).File("users"))
			dialer := memcached.NewDialer(server.Address, &api.Certificates{}, &api.Users{})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			for _, user := range users.All() {
				conn, err := dialer.DialAs(ctx, user)
				if err != nil {
					t.Errorf("memcached %s and %q of %q: %v", run.Version, user, content, err)
					continue
				}
				_ = conn.Close()
			}
		}
	})
}

// What is no certificate is explained in one line, and what is one can be verified.
func FuzzReadCertificates(f *testing.F) {
	files := agenttesting.NewAuthority(f).Issue(f, time.Now().Add(time.Hour))
	f.Add([]byte(files["tls.crt"]), []byte(files["tls.key"]), []byte(files["ca.crt"]))
	f.Add([]byte(files["tls.crt"]+files["ca.crt"]), []byte(files["tls.key"]), []byte(files["tls.crt"]))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"), []byte("\x1b"), []byte("\n"))
	f.Fuzz(func(t *testing.T, certificate, key, ca []byte) {
		content := map[string][]byte{"tls.crt": certificate, "tls.key": key, "ca.crt": ca}
		paths := api.CertificateFiles{CA: "ca.crt", Certificate: "tls.crt", Key: "tls.key", ServerName: agenttesting.ServerName}
		read := func() (*api.Certificates, error) {
			return paths.ReadFrom(func(path string) ([]byte, error) { return content[path], nil })
		}
		certificates, err := read()
		testkit.OneLine(t, err)
		if err != nil {
			return
		}
		testkit.OneLine(t, certificates.Verify(time.Now(), agenttesting.ServerName))
		for name := range content {
			before := content[name]
			content[name] = append(slices.Clone(before), '\n')
			if changed, err := read(); err != nil || changed.Fingerprint() == certificates.Fingerprint() {
				t.Errorf("a change of %s does not show: %v", name, err)
			}
			content[name] = before
		}
	})
}

// A certificate can say anything about itself. It is sound if its dates and names are, and otherwise one line says why, which stays the
// same for as long as the reason does.
func FuzzVerifyCertificates(f *testing.F) {
	f.Add(agenttesting.ServerName, "CA", int64(-60), int64(60))
	f.Add("*."+agenttesting.ServerName, agenttesting.ServerName, int64(-60), int64(-1))
	f.Add("other\n\x1b[2J", "", int64(1), int64(60))
	f.Add("", "a\nb", int64(-1), int64(1<<33))
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	encodedKey, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		f.Fatal(err)
	}
	now := time.Now().Truncate(time.Second)
	f.Fuzz(func(t *testing.T, name, subject string, from, until int64) {
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: subject}, DNSNames: []string{name},
			NotBefore: now.Add(time.Duration(from) * time.Second), NotAfter: now.Add(time.Duration(until) * time.Second),
		}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			return
		}
		certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		files := map[string][]byte{"c": certificate, "k": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encodedKey})}
		paths := api.CertificateFiles{CA: "c", Certificate: "c", Key: "k", ServerName: agenttesting.ServerName}
		certificates, err := paths.ReadFrom(func(path string) ([]byte, error) { return files[path], nil })
		testkit.OneLine(t, err)
		if err != nil {
			return
		}
		failure := certificates.Verify(now, agenttesting.ServerName)
		testkit.OneLine(t, failure)
		leaf := certificates.Leaf()
		sound := !now.Before(leaf.NotBefore) && !now.After(leaf.NotAfter) && leaf.VerifyHostname(agenttesting.ServerName) == nil
		if sound != (failure == nil) {
			t.Errorf("the certificate for %q from %s to %s: %v", name, leaf.NotBefore, leaf.NotAfter, failure)
		}
		var before, after *api.CertificateError
		later := certificates.Verify(now.Add(time.Millisecond), agenttesting.ServerName)
		if errors.As(failure, &before) && errors.As(later, &after) && before.Fault == after.Fault && before.Error() != after.Error() {
			t.Errorf("the error changes from %q to %q", before, after)
		}
	})
}

// answerer is a connection to an agent that answers with bytes, and counts those that are read.
type answerer struct {
	net.Conn
	answer io.Reader
	read   *atomic.Int64
}

func (a answerer) Write(request []byte) (int, error) { return len(request), nil }
func (a answerer) Close() error                      { return nil }
func (a answerer) Read(into []byte) (int, error) {
	n, err := a.answer.Read(into)
	a.read.Add(int64(n))
	return n, err
}

// Pods answer the operator, and a pod can be anybody's. Whatever it answers, little is read, errors are one line, and a state has in it
// what a state can have, so that conditions and decisions can be made of it.
func FuzzFetch(f *testing.F) {
	ok := func(body string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	for _, seed := range []string{
		ok(`{"version":"1.6.45","process":17,"run":"x/1/17","started":"2026-01-02T03:04:05Z","items":10,"hitRatio":0.25,"cacheMemory":64,` +
			`"certificate":{"notAfter":"2027-01-02T03:04:05Z","fingerprint":"` + strings.Repeat("ab", 32) + `"},"problem":"users are not reloaded: no"}`),
		ok(`{"hitRatio":7}`), ok(`{"hitRatio":-1e308}`), ok(`{"problem":"a\nb\u001b[2J"}`), ok(`{"version":"1\u0000"}`), ok(`null`), ok(`[]`), ok(``), ok(`{"items":-1}`),
		"HTTP/1.1 503 Service Unavailable\r\n\r\nconnect to memcached:\n\x1b[2J refused\n", "HTTP/1.1 503 Service Unavailable\r\n\r\n",
		"HTTP/1.1 404 \x1b[2J\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: /metrics\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n{",
		"VERSION 1.6.45\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, answer []byte, endless bool) {
		var read atomic.Int64
		dial := func(context.Context, string, string) (net.Conn, error) {
			reader := io.Reader(bytes.NewReader(answer))
			if endless && len(answer) > 0 {
				reader = io.MultiReader(reader, &repeated{text: answer[len(answer)-1:]})
			}
			return answerer{answer: reader, read: &read}, nil
		}
		state, err := api.FetchOver(t.Context(), dial, "10.0.0.1:9150")
		testkit.OneLine(t, err)
		if read := read.Load(); read > 128<<10 { // Of two answers at most.
			t.Errorf("%d bytes are read", read)
		}
		if (state == nil) != (err != nil) {
			t.Errorf("the state is %v, the error %v", state, err)
		}
		if err != nil {
			return
		}
		if text := state.Version + state.Run + state.Problem; strings.ContainsFunc(text, unicode.IsControl) {
			t.Errorf("the state has control characters: %q", text)
		}
		if ratio := state.HitRatio; ratio != nil && (*ratio < 0 || *ratio > 1) {
			t.Errorf("the hit ratio is %v", *ratio)
		}
		for _, number := range []int64{state.Process, state.Before, state.Restored, state.Items, state.Hits, state.Misses, state.Evictions, state.CacheMemory, state.HashBytes} {
			if number < 0 {
				t.Errorf("a number is %d: %+v", number, state)
			}
		}
	})
}

// repeated is a text without an end.
type repeated struct{ text []byte }

func (r *repeated) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = r.text[i%len(r.text)]
	}
	return len(into), nil
}
