package secrets_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/secrets"
)

// verifyModes are memcached's ssl_verify_mode.
var verifyModes = map[v1alpha1.ClientCertificates]string{"": "0", v1alpha1.ClientCertificatesOptional: "1", v1alpha1.ClientCertificatesRequired: "2"}

// What is judged sound is what the agent gets in with, at every memcached; and what is refused is not.
func TestTheJudgementIsThatOfMemcached(t *testing.T) {
	at := time.Now() //nolint:forbidigo // memcached looks at the clock as well.
	root := issue(t, nil, at, ca)
	between := issue(t, root, at, ca)
	usage := func(usages ...x509.ExtKeyUsage) func(*x509.Certificate) {
		return func(c *x509.Certificate) {
			leaf(agenttesting.ServerName)(c)
			c.ExtKeyUsage = usages
		}
	}
	both := issue(t, between, at, leaf(agenttesting.ServerName))
	self := issue(t, nil, at, leaf(agenttesting.ServerName))
	unsigned := issue(t, root, at, func(c *x509.Certificate) {
		leaf(agenttesting.ServerName)(c)
		c.KeyUsage = x509.KeyUsageKeyEncipherment
	})
	certificates := map[string]map[string][]byte{
		"for both":             files(t, []*authority{issue(t, root, at, leaf(agenttesting.ServerName))}, []*authority{root}),
		"for servers":          files(t, []*authority{issue(t, root, at, usage(x509.ExtKeyUsageServerAuth))}, []*authority{root}),
		"for anything":         files(t, []*authority{issue(t, root, at, usage())}, []*authority{root}),
		"for clients":          files(t, []*authority{issue(t, root, at, usage(x509.ExtKeyUsageClientAuth))}, []*authority{root}),
		"with a CA in between": files(t, []*authority{both, between}, []*authority{root}),
		"by a CA without root": files(t, []*authority{both}, []*authority{between}),
		"by a CA with root":    files(t, []*authority{both}, []*authority{between, root}),
		"by nobody":            files(t, []*authority{both}, []*authority{root}),
		"self-signed":          files(t, []*authority{self}, []*authority{self}),
		"not for signatures":   files(t, []*authority{unsigned}, []*authority{root}),
	}
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		for name, data := range certificates {
			for clients, mode := range verifyModes {
				t.Run(fmt.Sprintf("%s with client certificates %s", name, clients), func(t *testing.T) {
					refused := secrets.Certificate(secret("s", data), agenttesting.ServerName, false, clients, at)
					failed := connect(t, run, data, mode)
					if (refused != nil) != (failed != nil) {
						t.Errorf("the judgement is %v, but the connection gives %v", refused, failed)
					}
				})
			}
		}
	})
}

// All users of a Secret that is judged sound get in, and of one that is refused for their number not all.
func TestUsersGetInAsJudged(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		for name, content := range map[string]string{
			"eight":            "a:1\nb:2\nc:3\nd:4\ne:5\nf:6\ng:7\nh:8\n",
			"nine":             "a:1\nb:2\nc:3\nd:4\ne:5\nf:6\ng:7\nh:8\ni:9\n",
			"the longest line": "a:" + strings.Repeat("p", 252) + "\nb:2",
			"a longer line":    "a:" + strings.Repeat("p", 253) + "\nb:2",
			"colons":           "a:1:2:3\n",
			"lines of Windows": "a:1\r\nb:2\r\n",
			"a user in two":    "a:1\na:2\n",
		} {
			t.Run(name, func(t *testing.T) {
				refused := secrets.Users(secret("s", users(content)))
				if failed := logIn(t, run, content); (refused != nil) != (failed != nil) {
					t.Errorf("the judgement is %v, but logging in gives %v", refused, failed)
				}
			})
		}
	})
}

// logIn starts memcached with users, and logs in as each of them.
func logIn(t *testing.T, run agenttesting.Runner, content string) error {
	t.Helper()
	server := run.Start(t, "-Y", agenttesting.NewVolume(t, map[string]string{"users": content}).File("users"))
	dialer := memcached.NewDialer(server.Address, &api.Certificates{}, &api.Users{})
	for line := range strings.Lines(content) {
		name, password, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		conn, err := dialer.DialAs(t.Context(), api.User{Name: name, Password: password})
		if err != nil {
			return err
		}
		_ = conn.Close()
	}
	return nil
}

// connect starts memcached with certificates, and talks to it as the agent does.
func connect(t *testing.T, run agenttesting.Runner, data map[string][]byte, mode string) error {
	t.Helper()
	content := map[string]string{}
	for name, file := range data {
		content[name] = string(file)
	}
	volume := agenttesting.NewVolume(t, content)
	options := "ssl_chain_cert=" + volume.File("tls.crt") + ",ssl_key=" + volume.File("tls.key")
	if mode != "0" {
		options += ",ssl_ca_cert=" + volume.File("ca.crt") + ",ssl_verify_mode=" + mode
	}
	server := run.Start(t, "-Z", "-o", options)
	certificates, err := volume.Files().Read()
	if err != nil {
		return err
	}
	conn, err := tls.Dial("tcp", server.Address, certificates.TLS())
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "version\r\n"); err != nil {
		return err
	}
	answer := make([]byte, len("VERSION"))
	_, err = io.ReadFull(conn, answer)
	if err == nil && string(answer) != "VERSION" {
		err = errors.New(string(answer))
	}
	return err
}
