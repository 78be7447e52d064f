//go:build e2e

package e2e

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/e2e/observe"
	"github.com/example/memcached-operator/olm/walk"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// podsStart is how long the pods of a cache may take to become ready beside those of other tests.
const podsStart = time.Minute

// contested are the kinds of objects that two owners may want to have under one name.
var contested = []schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: "StatefulSet"}, {Group: "apps", Version: "v1", Kind: "Deployment"},
	{Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "Secret"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}, {Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
}

// A cache is made whose names somebody's own memcached has already. The operator says so and touches nothing of it, however often it looks.
// The memcached goes on serving, until its owner removes it. Then the cache gets ready.
func namesTaken(t *testing.T) {
	const theirs = "e2e-theirs"
	namespace(t, theirs)
	file := filepath.Join(suite.root, "olm", "e2e", "testdata", "theirs.yaml")
	kubectl(t.Context(), t, "apply", "-n", theirs, "-f", file)
	kubectl(t.Context(), t, "rollout", "status", "statefulset/taken", "-n", theirs, "--timeout=2m")
	address := kubectl(t.Context(), t, "get", "pod", "taken-0", "-n", theirs, "-o", "jsonpath={.status.podIP}")
	server := clients.NewMemcached("taken-0", address, clients.Access{})
	must(t, server.Store(wrongItems, smallItem))
	before := contestedIn(t, theirs)

	p := request(t, types.NamespacedName{Namespace: theirs, Name: "taken"}, 2, "workload: StatefulSet\nservice: {}\ndisruption: {}\nnetworkPolicy: {}")
	load := p.ask(server)
	for _, patch := range []string{`{"podLabels":{"changed":"once"}}`, `{"podLabels":{"changed":"twice"}}`} {
		p.patch(patch)
		message := p.says(30*time.Second, cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonNameConflict, "StatefulSet taken already exists",
			"Service taken-nodes already exists", "Service taken already exists", "PodDisruptionBudget taken already exists",
			"NetworkPolicy taken already exists", "does not belong to this Memcached", "delete or rename it")
		t.Logf("all names are taken: %s", message)
	}
	p.said(cachev1alpha1.ReasonNameConflict, "StatefulSet taken already exists")
	unchanged(t, theirs, before)
	secretTaken(p)
	if missing := p.missing(server, wrongItems, smallItem); missing > 0 {
		t.Errorf("their memcached has lost %d of %d items", missing, wrongItems)
	}
	p.unnoticed("clients of their memcached", load)

	must(t, load.Stop())
	kubectl(t.Context(), t, "delete", "statefulset,service,secret,poddisruptionbudget,networkpolicy", "-l", "app=theirs", "-n", theirs, "--timeout=1m")
	start := time.Now()
	p.ready(retried + podsStart)
	t.Logf("ready %s after they removed theirs", time.Since(start).Round(time.Second))
	p = produced(t, p.key, p.size)
	for name, pod := range p.pods() {
		p.leads(hostOf(p, name), pod.Status.PodIP)
	}
	servers := p.servers(clients.Access{})
	p.storeAll(servers, wrongItems, smallItem)
	p.complete(servers, wrongItems)
}

// secretTaken removes their headless Service. The cache gets one then, and next wants a Secret that is theirs as well. All else stays.
func secretTaken(p *production) {
	p.t.Helper()
	before := contestedIn(p.t, p.key.Namespace)
	kubectl(p.t.Context(), p.t, "delete", "service", "taken-nodes", "-n", p.key.Namespace, "--timeout=1m")
	p.patch(`{"podLabels":{"changed":"thrice"}}`)
	message := p.says(30*time.Second, cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonNameConflict, "Secret taken-binding already exists", "StatefulSet taken already exists")
	p.t.Logf("the headless Service is not taken any more: %s", message)
	const own = "Service e2e-theirs/taken-nodes"
	if changed := before.Compare(contestedIn(p.t, p.key.Namespace)).Resources; !slices.Equal(changed, []string{own}) {
		p.t.Errorf("want %s in place of theirs, and no other change: %v", own, changed)
	}
}

// hostOf returns the DNS name of a pod of the cache.
func hostOf(p *production, pod string) string {
	p.t.Helper()
	for _, host := range p.hosts() {
		if strings.HasPrefix(host, pod+".") {
			return host
		}
	}
	p.t.Fatalf("no host of %s is in status.endpoints", pod)
	return ""
}

// contestedIn returns the objects of a namespace that two owners may want.
func contestedIn(t *testing.T, namespace string) *observe.State {
	t.Helper()
	state, err := observe.Take(t.Context(), suite.cluster.Client, namespace, contested)
	must(t, err)
	return state
}

// unchanged fails the test if an object has come, gone or changed.
func unchanged(t *testing.T, namespace string, before *observe.State) {
	t.Helper()
	if changed := before.Compare(contestedIn(t, namespace)).Resources; len(changed) > 0 {
		t.Errorf("these objects have come, gone or changed: %s", strings.Join(changed, ", "))
	}
}

// A cache and an Application of one name live in one namespace, and others of that name in another. Each keeps what it made first. Who wants
// what the other has is told so, and gets it when the other is gone.
func oneName(t *testing.T) {
	image, err := webImage()
	must(t, err)
	const here, there, name = "e2e-one-name", "e2e-one-name-too", "same"
	namespaces(t, here, there)
	spec := webSpec(image, "")
	makeApplication(t, here, name, spec)
	makeApplication(t, there, name, spec)
	waitReady(t, there, name)
	late := request(t, types.NamespacedName{Namespace: there, Name: name}, 1, "")
	s := startSame(t, here, name, image)
	before := contestedIn(t, there)

	s.wantsService()
	message := late.says(30*time.Second, cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonNameConflict, "Deployment "+name+" already exists", "does not belong to this Memcached")
	t.Logf("a cache that wants the Deployment of an Application: %s", message)
	late.patch(`{"podLabels":{"changed":"once"}}`)
	late.says(30*time.Second, cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonNameConflict, "Deployment "+name+" already exists")
	unchanged(t, there, before)
	waitReady(t, there, name)

	deleteApplication(t, there, name)
	start := time.Now()
	late.ready(retried + podsStart)
	t.Logf("ready %s after the Application is gone", time.Since(start).Round(time.Second))
	kubectl(t.Context(), t, "delete", "memcached", name, "-n", there, "--cascade=foreground", "--timeout=1m")
	s.unharmed()
}

// namesakes are a cache with items and clients, and an Application of its name with a visitor.
type namesakes struct {
	*production
	servers []*clients.Memcached
	loads   []*clients.Load
	visitor visits
	before  map[string]corev1.Pod
}

// startSame creates the cache beside the Application, and waits until both are ready.
func startSame(t *testing.T, namespace, name, image string) *namesakes {
	t.Helper()
	s := &namesakes{production: produceAs(t, types.NamespacedName{Namespace: namespace, Name: name}, 2, "workload: StatefulSet")}
	waitReady(t, namespace, name)
	s.visitor = startVisitor(t, namespace, "visitor", image, "visit", "http://"+name+"."+namespace+".svc:8080/")
	s.servers, s.before = s.production.servers(clients.Access{}), s.pods()
	s.storeAll(s.servers, wrongItems, smallItem)
	s.loads = s.use(s.servers)
	return s
}

// wantsService lets the cache ask for a Service, which the Application has. All else that it asks for is made.
func (s *namesakes) wantsService() {
	s.t.Helper()
	before := contestedIn(s.t, s.key.Namespace)
	s.patch(`{"service":{}}`)
	message := s.says(30*time.Second, cachev1alpha1.ConditionDegraded, cachev1alpha1.ReasonNameConflict, "Service "+s.key.Name+" already exists", "does not belong to this Memcached")
	s.t.Logf("a cache that wants the Service of an Application: %s", message)
	unchanged(s.t, s.key.Namespace, before)
	s.patch(`{"podLabels":{"changed":"meanwhile"}}`)
	must(s.t, walk.Within(s.t.Context(), 30*time.Second, "the label on every pod", func(context.Context) error {
		for name, pod := range s.pods() {
			if pod.Labels["changed"] != "meanwhile" {
				return errors.New(name + " does not have it")
			}
		}
		return nil
	}))
	s.patch(`{"service":null}`)
	s.ready(30 * time.Second)
	s.unharmed()
}

// unharmed fails the test unless the Application is ready, the pods of the cache are as before with all items, and nobody has noticed anything.
func (s *namesakes) unharmed() {
	s.t.Helper()
	waitReady(s.t, s.key.Namespace, s.key.Name)
	s.same(s.before)
	s.complete(s.servers, wrongItems)
	s.unnoticed("clients of the cache", s.loads...)
	served(s.t, s.visitor)
}
