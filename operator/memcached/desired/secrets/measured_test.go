package secrets_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/desired/secrets"
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
