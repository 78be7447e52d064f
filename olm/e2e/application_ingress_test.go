//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/e2e/clients"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

// The hosts of the two Applications. The host of the second one changes.
const (
	routedHost = "routed.example.com"
	firstHost  = "first.example.com"
	secondHost = "second.example.com"
)

// routedApplications are two Applications that an ingress controller serves.
type routedApplications struct {
	controller *ingressController
	load       *clients.Load // On the host that stays.
}

// servedByIngress sends requests to Applications through an ingress controller. It reads nothing but the Ingresses that the operator made,
// and what Kubernetes says of their Services.
func servedByIngress(t *testing.T) {
	image, err := webImage()
	must(t, err)
	const secret = "routed-tls"
	a := routedApplications{controller: startIngressController(t, makeCertificate(t, secret, routedHost))}
	makeApplication(t, "default", "routed", routedSpec(image, 2, routedHost, `,"tlsSecret":"`+secret+`"`))
	makeApplication(t, "default", "moving", routedSpec(image, 1, firstHost, ""))

	t.Run("each host gets its Application, and others none", a.routed)
	a.load = a.controller.visitors(t, "http://"+routedHost+"/", "https://"+routedHost+"/")
	t.Run("updates fail no request", a.updated)
	t.Run("a scaled Application fails no request", a.scaled)
	t.Run("a host and path that change are served at once at the new place only", a.moved)
	must(t, a.load.Stop())
	t.Run("without its Ingress it is served no more", a.removed)
}

func routedSpec(image string, replicas int, host, more string) string {
	return webSpec(image, fmt.Sprintf(`,"replicas":%d,"ingress":{"host":%q,"className":%q%s}`, replicas, host, ingressClass, more))
}

// makeCertificate makes a Secret with a certificate for the host, and returns the configuration of clients that trust it.
func makeCertificate(t *testing.T, name, host string) *tls.Config {
	t.Helper()
	files := agenttesting.NewAuthority(t).Issue(t, time.Now().Add(time.Hour), host)
	folder := t.TempDir()
	for _, file := range []string{"tls.crt", "tls.key"} {
		must(t, os.WriteFile(filepath.Join(folder, file), []byte(files[file]), 0o600))
	}
	must(t, suite.cluster.Delete(t.Context(), "secret", name, "-n", "default"))
	t.Cleanup(func() { must(t, suite.cluster.Delete(context.Background(), "secret", name, "-n", "default")) })
	kubectl(t.Context(), t, "create", "secret", "tls", name, "-n", "default",
		"--cert="+filepath.Join(folder, "tls.crt"), "--key="+filepath.Join(folder, "tls.key"))
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM([]byte(files["ca.crt"])) {
		t.Fatal("the CA cannot be read")
	}
	return &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}
}

func (a routedApplications) routed(t *testing.T) {
	waitReady(t, "default", "routed")
	waitReady(t, "default", "moving")
	a.controller.waitServed(t, "http://"+routedHost+"/", "routed")
	a.controller.waitServed(t, "https://"+routedHost+"/", "routed")
	a.controller.waitServed(t, "http://"+firstHost+"/", "moving")
	a.controller.waitRefused(t, "http://"+secondHost+"/")
	a.controller.waitRefused(t, "http://sub."+routedHost+"/")
}

func (a routedApplications) updated(t *testing.T) {
	for _, change := range []struct{ what, spec string }{
		{"environment", `{"env":[{"name":"GREETING","value":"hello"}]}`},
		// Another program, which stops in another way.
		{"image", `{"image":"docker.io/nginxinc/nginx-unprivileged:1.29-alpine"}`},
	} {
		before := podsOf(t, "routed")
		patchSpec(t, "routed", change.spec)
		waitReady(t, "default", "routed")
		waitPods(t, "routed", 2)
		if podsOf(t, "routed") == before {
			t.Errorf("the new %s has not reached the pods", change.what)
		}
		a.failNoRequest(t, "update of the "+change.what)
	}
}

func (a routedApplications) scaled(t *testing.T) {
	for _, replicas := range []int{3, 1} {
		kubectl(t.Context(), t, "scale", "application", "routed", "-n", "default", fmt.Sprintf("--replicas=%d", replicas))
		waitReady(t, "default", "routed")
		waitPods(t, "routed", replicas)
		a.failNoRequest(t, fmt.Sprintf("%d pods", replicas))
	}
}

func (a routedApplications) moved(t *testing.T) {
	patchSpec(t, "moving", `{"ingress":{"host":"`+secondHost+`"}}`)
	a.controller.waitServed(t, "http://"+secondHost+"/", "moving")
	a.controller.waitRefused(t, "http://"+firstHost+"/")
	// The web application serves / too, but no longer gets the request.
	patchSpec(t, "moving", `{"ingress":{"path":"/binding"}}`)
	a.controller.waitRefused(t, "http://"+secondHost+"/")
	if content, err := a.controller.client("http://" + secondHost + "/binding").Page(t.Context()); err != nil || strings.TrimSpace(string(content)) != "{}" {
		t.Errorf("the new path is answered with %q (%v)", content, err)
	}
	a.failNoRequest(t, "change of another host")
}

func (a routedApplications) removed(t *testing.T) {
	patchSpec(t, "routed", `{"ingress":null}`)
	a.controller.waitRefused(t, "http://"+routedHost+"/")
	waitReady(t, "default", "routed")
	must(t, suite.cluster.Delete(t.Context(), "application", "moving", "-n", "default"))
	a.controller.waitRefused(t, "http://"+secondHost+"/binding")
}

// failNoRequest fails the test if a request to the host that stays has failed since the last call.
func (a routedApplications) failNoRequest(t *testing.T, during string) {
	t.Helper()
	counts := a.load.Counts()
	t.Logf("%s: %d requests, %d failed, the slowest took %s", during, counts.Requests, counts.Failed, counts.Slowest)
	if counts.Requests < 20 || counts.Failed > 0 {
		t.Errorf("%s: %d of %d requests failed: %s", during, counts.Failed, counts.Requests, strings.Join(counts.Failures, "; "))
	}
}
