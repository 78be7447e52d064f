//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/e2e/images"
	"github.com/example/memcached-operator/olm/walk"
)

// T14, T15 for Applications: what the tutorial shows.
func sampleApplications(t *testing.T) {
	t.Run("the sample creates a Deployment, a Service and an Ingress, which are deleted with it", sampleComesAndGoes)
	t.Run("changes by hand are reverted, with an event", childrenArePutBack)
	t.Run("an image that cannot be pulled is reported, until it is corrected", badImageIsReported)
	t.Run("an ingress that is removed from the spec is deleted", ingressGoes)
}

// A cache can be created and deleted without a disturbance of the application.
func boundApplications(t *testing.T) {
	bound := startBound(t)
	t.Run("the running pods get the binding", bound.hasBinding)
	t.Run("the application serves without its cache", bound.losesItsCache)
}

// webImage pushes the image of the web application, once.
var webImage = sync.OnceValues(func() (string, error) {
	return images.PushProgram(context.Background(), suite.root, "webapp", "webapp", suite.registry+"/example/webapp:e2e")
})

func sampleComesAndGoes(t *testing.T) {
	ctx := t.Context()
	const name = sampleApplication
	makeSample(t)
	waitReady(t, "default", name)

	contains(t, kubectl(ctx, t, "get", "deployment", name), "2/2")
	contains(t, kubectl(ctx, t, "get", "service", name), "ClusterIP", "8080/TCP")
	ingress := strings.Fields(kubectl(ctx, t, "get", "ingress", name, "--no-headers"))
	if len(ingress) < 4 || ingress[1] != "nginx" || ingress[2] != "example.foo.com" || ingress[len(ingress)-2] != "80" {
		t.Errorf("the Ingress is %v, want class nginx, host example.foo.com, port 80", ingress)
	}
	owned := []string{"deployment", "service", "ingress", "poddisruptionbudget"}
	for _, kind := range owned {
		owner := kubectl(ctx, t, "get", kind, name, "-o", "jsonpath={range .metadata.ownerReferences[*]}{.kind} {.name} {.controller}{end}")
		if owner != "Application "+name+" true" {
			t.Errorf("the %s belongs to %q", kind, owner)
		}
	}
	table := strings.Split(kubectl(ctx, t, "get", "application", name), "\n")
	contains(t, table[0], "READY", "AGE")
	contains(t, table[1], name, "True")
	for _, kind := range []string{"Available", "Progressing", "Degraded"} {
		if status := condition(t, "default", name, kind); (status == "True") != (kind == "Available") {
			t.Errorf("condition %s is %q", kind, status)
		}
	}
	if url := kubectl(ctx, t, "get", "application", name, "-o", "jsonpath={.status.url}"); url != "http://example.foo.com/" {
		t.Errorf("status.url is %q", url)
	}
	contains(t, kubectl(ctx, t, "get", "--raw", servicePath("default", name)), "<html")

	kubectl(ctx, t, "delete", "application", name, "-n", "default")
	waitGone(t, "default", name, append(owned, "pods")...)
}

func childrenArePutBack(t *testing.T) {
	ctx := t.Context()
	const name = sampleApplication
	makeSample(t)
	waitReady(t, "default", name)

	kubectl(ctx, t, "scale", "deployment", name, "--replicas=7")
	waitFor(t, "the Deployment to have 2 replicas again", "2", "deployment", "jsonpath={.spec.replicas}")
	kubectl(ctx, t, "patch", "service", name, "--type=json", `-p=[{"op":"replace","path":"/spec/ports/0/port","value":9090}]`)
	waitFor(t, "the Service to have its port again", "8080/TCP", "service", "jsonpath={range .spec.ports[*]}{.port}/{.protocol}{end}")
	must(t, walk.Within(ctx, 20*time.Second, "events about both", func(ctx context.Context) error {
		events, err := suite.cluster.Kubectl(ctx, "get", "events", "-n", "default", "--field-selector",
			"reason=DriftRepaired,involvedObject.kind=Application,involvedObject.name="+name)
		if err == nil && (!strings.Contains(events, "replicas") || !strings.Contains(events, "port")) {
			err = fmt.Errorf("events are:\n%s", events)
		}
		return err
	}))
	waitReady(t, "default", name)
}

func badImageIsReported(t *testing.T) {
	const name = sampleApplication
	makeSample(t)
	waitReady(t, "default", name)
	good := kubectl(t.Context(), t, "get", "application", name, "-o", "jsonpath={.spec.image}")

	patchSpec(t, name, `{"image":"`+suite.registry+`/example/nobody-has-this:1"}`)
	waitFor(t, "the bad image to be reported", "True", "application", `jsonpath={.status.conditions[?(@.type=="Degraded")].status}`)
	contains(t, kubectl(t.Context(), t, "get", "application", name, "-o", `jsonpath={.status.conditions[?(@.type=="Degraded")].message}`), "cannot be pulled")
	if available := condition(t, "default", name, "Available"); available != "True" {
		t.Errorf("with the old pods it is Available=%s", available)
	}
	patchSpec(t, name, `{"image":"`+good+`"}`)
	waitReady(t, "default", name)
}

// Updates of an Application fail no request.
func updatesFailNoRequest(t *testing.T) {
	image, err := webImage()
	must(t, err)
	const name = "updated"
	visitor := makeVisited(t, name, image)

	for what, spec := range map[string]string{
		"environment": `{"env":[{"name":"GREETING","value":"hello"}]}`,
		// Another program, which stops in another way.
		"image": `{"image":"docker.io/nginxinc/nginx-unprivileged:1.29-alpine"}`,
	} {
		before := podsOf(t, name)
		patchSpec(t, name, spec)
		waitReady(t, "default", name)
		if podsOf(t, name) == before {
			t.Errorf("the new %s has not reached the pods", what)
		}
		waitPods(t, name, 2)
		counts := visitor(t)
		t.Logf("update of the %s: %d requests, %d failed, the slowest took %s", what, counts.Requests, counts.Failed, counts.Slowest)
		if counts.Requests < 20 || counts.Failed > 0 {
			t.Errorf("update of the %s: %d of %d requests failed: %s", what, counts.Failed, counts.Requests, strings.Join(counts.Failures, "; "))
		}
	}
}

// makeVisited makes an Application that a visitor requests all the time, through its Service.
func makeVisited(t *testing.T, name, image string) (visitor func(*testing.T) clients.Counts) {
	t.Helper()
	makeApplication(t, "default", name, webSpec(image, `,"replicas":2`))
	waitReady(t, "default", name)
	visitor = startVisitor(t, "default", "visitor", image, "visit", "http://"+name+".default.svc:8080/")
	must(t, walk.Within(t.Context(), time.Minute, "the visitor to be served", func(context.Context) error {
		if counts := visitor(t); counts.Requests < 20 || counts.Failed > 0 {
			return fmt.Errorf("%+v", counts)
		}
		return nil
	}))
	return visitor
}

func ingressGoes(t *testing.T) {
	const name = sampleApplication
	makeSample(t)
	waitReady(t, "default", name)
	kubectl(t.Context(), t, "get", "ingress", name)

	patchSpec(t, name, `{"ingress":null}`)
	waitGone(t, "default", name, "ingress")
	waitReady(t, "default", name)
	waitFor(t, "the URL to become the Service's", "http://"+name+".default.svc:8080", "application", "jsonpath={.status.url}")
}

func olderHasTheHost(t *testing.T) {
	image, err := webImage()
	must(t, err)
	ctx := t.Context()
	const other, name = "e2e-other", "claims"
	namespace(t, other)
	spec := webSpec(image, `,"replicas":1,"ingress":{"host":"claimed.example.com"}`)
	makeApplication(t, "default", "has", spec)
	waitReady(t, "default", "has")
	makeApplication(t, other, name, spec)

	waitReason(t, other, name, "HostConflict")
	waitRollout(t, other, name)
	message := kubectl(ctx, t, "get", "application", name, "-n", other, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].message}`)
	contains(t, message, "claimed.example.com", "another namespace")
	if strings.Contains(message, "default") {
		t.Errorf("the message names what is in another namespace: %s", message)
	}
	waitGone(t, other, name, "ingress")
	waitReady(t, "default", "has")
	kubectl(ctx, t, "get", "ingress", "has", "-n", "default")

	kubectl(ctx, t, "delete", "application", "has", "-n", "default")
	waitReady(t, other, name)
	kubectl(ctx, t, "get", "ingress", name, "-n", other)
}
