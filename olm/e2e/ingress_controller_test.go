//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/walk"
)

// ingressClass is the class of the Ingresses that the controller serves.
const ingressClass = "e2e-loopback"

// ingressController is a process on this machine that serves the Ingresses of a class.
type ingressController struct {
	plain, encrypted string      // The addresses of HTTP and HTTPS.
	trusts           *tls.Config // What clients trust.
}

// startIngressController starts the controller on loopback, and stops it when the test ends.
func startIngressController(t *testing.T, trusts *tls.Config) *ingressController {
	t.Helper()
	program := os.Getenv("E2E_INGRESS_CONTROLLER")
	if program == "" {
		t.Fatal("E2E_INGRESS_CONTROLLER not set: run `make e2e`, which sets it")
	}
	makeIngressClass(t)
	c := &ingressController{plain: freeAddress(t), encrypted: freeAddress(t), trusts: trusts}
	output, err := os.Create(filepath.Join(t.TempDir(), "ingress-controller.log"))
	must(t, err)
	process := exec.Command(program, "--ingress-class="+ingressClass, "--http="+c.plain, "--https="+c.encrypted)
	process.Stdout, process.Stderr = output, output
	must(t, process.Start())
	t.Cleanup(func() {
		must(t, process.Process.Signal(syscall.SIGTERM))
		if err := process.Wait(); err != nil {
			t.Errorf("the ingress controller: %v", err)
		}
		must(t, output.Close())
		if t.Failed() {
			log, err := os.ReadFile(output.Name())
			t.Logf("the log of the ingress controller: %v\n%s", err, log)
		}
	})
	return c
}

// makeIngressClass makes a class of Traefik, which reads no others.
func makeIngressClass(t *testing.T) {
	t.Helper()
	must(t, applyManifest(t, fmt.Sprintf(
		`{"apiVersion":"networking.k8s.io/v1","kind":"IngressClass","metadata":{"name":%q},"spec":{"controller":"traefik.io/ingress-controller"}}`, ingressClass)))
	t.Cleanup(func() { must(t, suite.cluster.Delete(context.Background(), "ingressclass", ingressClass)) })
}

// freeAddress returns a loopback address on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, listener.Close())
	return listener.Addr().String()
}

// client returns a client for a URL whose host resolves to the controller.
func (c *ingressController) client(url string) *clients.Web {
	address := c.plain
	if strings.HasPrefix(url, "https:") {
		address = c.encrypted
	}
	return clients.NewWeb(url, url).Through(address, c.trusts)
}

// waitServed waits until the pods of an Application answer at a URL.
func (c *ingressController) waitServed(t *testing.T, url, application string) {
	t.Helper()
	web := c.client(url)
	must(t, walk.Within(t.Context(), time.Minute, url+" to be served", func(ctx context.Context) error {
		content, err := web.Page(ctx)
		if err != nil {
			return err
		}
		var got page
		if err := json.Unmarshal(content, &got); err != nil || !strings.HasPrefix(got.Pod, application+"-") {
			return errors.Join(fmt.Errorf("the answer is %q", content), err)
		}
		return nil
	}))
}

// waitRefused waits until the controller knows no application for a URL.
func (c *ingressController) waitRefused(t *testing.T, url string) {
	t.Helper()
	web := c.client(url)
	must(t, walk.Within(t.Context(), time.Minute, url+" to be refused", func(ctx context.Context) error {
		content, err := web.Page(ctx)
		if err == nil || !strings.Contains(err.Error(), "status 404") {
			return errors.Join(fmt.Errorf("it is answered with %q", content), err)
		}
		return nil
	}))
}

// visitors request URLs all the time, each twice at the same time, until the test ends.
func (c *ingressController) visitors(t *testing.T, urls ...string) *clients.Load {
	t.Helper()
	var all []clients.Server
	for _, url := range urls {
		all = append(all, c.client(url), c.client(url))
	}
	load := clients.StartLoad(all)
	t.Cleanup(func() { must(t, load.Stop()) })
	return load
}
