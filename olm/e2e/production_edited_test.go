//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/e2e/observe"
	"github.com/example/memcached-operator/olm/walk"
	cachev1alpha1 "github.com/example/memcached-operator/operator/api/cache/v1alpha1"
)

// editedItems is how many items each pod holds while somebody edits the objects around it.
const editedItems = 1000

// edits are what somebody does with kubectl to the objects of a cache, with a semicolon between two commands. CACHE stands for its name, and
// WORKLOAD for the kind that runs it.
var edits = []struct {
	what, kubectl string
	event         string // A part of the event about the repair. Empty if there is none.
}{
	{"scales", "scale WORKLOAD CACHE --replicas=5", "spec.replicas"},
	// Kubernetes begins to replace the pods of a Deployment at once. These pods never become ready, so the others stay until it is put back.
	{"sets another image", "set image WORKLOAD CACHE memcached=docker.io/library/memcached:no-such-tag", "image"},
	{"sets another limit", "set resources WORKLOAD CACHE --limits=memory=1Ti --requests=memory=1Ti", "resources"},
	{"orphans the workload", "patch WORKLOAD CACHE --type=merge -p {\"metadata\":{\"ownerReferences\":null}}", "ownerReferences"},
	{"orphans the Service for pods", "patch service CACHE-nodes --type=merge -p {\"metadata\":{\"ownerReferences\":null}}", "Service CACHE-nodes was changed"},
	{"orphans the Service", "patch service CACHE --type=merge -p {\"metadata\":{\"ownerReferences\":null}}", "Service CACHE was changed"},
	{"leads the Service elsewhere", "patch service CACHE --type=merge -p {\"spec\":{\"selector\":{\"app.kubernetes.io/instance\":\"other\"}}}", "spec.selector"},
	{"takes a label away", "label networkpolicy CACHE app.kubernetes.io/managed-by-", "NetworkPolicy CACHE was changed"},
	{"allows more evictions", "patch poddisruptionbudget CACHE --type=merge -p {\"spec\":{\"maxUnavailable\":2}}", "spec.maxUnavailable"},
	{"deletes the Service for pods", "delete service CACHE-nodes", ""},
	{"deletes the Service", "delete service CACHE", ""},
	{"deletes the budget", "delete poddisruptionbudget CACHE", ""},
	{"deletes the network policy", "delete networkpolicy CACHE", ""},
	{"deletes the workload and leaves its pods", "delete WORKLOAD CACHE --cascade=orphan", ""},
	// The operator does not watch records, so another edit makes it look.
	{"deletes the records and scales", "delete controllerrevisions -l app.kubernetes.io/component=record,app.kubernetes.io/part-of=CACHE; scale WORKLOAD CACHE --replicas=4", ""},
}

// Somebody edits, orphans and deletes what the operator owns. It puts everything back, and the pods notice nothing.
func edited(t *testing.T) {
	for _, workload := range []string{"StatefulSet", "Deployment"} {
		t.Run(workload, func(t *testing.T) {
			p := produce(t, "edited-"+strings.ToLower(workload), 3, "workload: "+workload+"\nservice: {}\ndisruption: {}\nnetworkPolicy: {}\nmonitoring: {}")
			e := p.editable(workload)
			for _, edit := range edits {
				t.Run("somebody "+edit.what, func(t *testing.T) { e.in(t).edit(edit.kubectl, edit.event) })
			}
			if workload == "StatefulSet" {
				t.Run("somebody restarts its rollout", func(t *testing.T) { e.in(t).ignoresRestart() })
				return
			}
			t.Run("somebody restarts its rollout", func(t *testing.T) { e.in(t).restarts() })
			t.Run("somebody pauses its rollout", func(t *testing.T) { e.in(t).pauses() })
		})
	}
}

// editable is a cache whose objects somebody edits, with what was there before.
type editable struct {
	*production
	workload string
	before   map[string]corev1.Pod
	objects  map[string]any
	servers  []*clients.Memcached
	open     []*clients.Load // On connections from before: an edit of a Service concerns new ones.
}

func (p *production) editable(workload string) *editable {
	p.t.Helper()
	e := &editable{production: p, workload: workload, before: p.pods()}
	for name, pod := range e.before {
		access := clients.Access{Network: p.network}
		e.servers = append(e.servers, clients.NewMemcached(name, pod.Status.PodIP, access))
		conn, err := access.Open(p.t.Context(), pod.Status.PodIP)
		must(p.t, err)
		e.open = append(e.open, p.ask(conn))
	}
	p.storeAll(e.servers, editedItems, smallItem)
	var err error
	e.objects, err = e.owned(p.t.Context())
	must(p.t, err)
	return e
}

func (e *editable) in(t *testing.T) *editable {
	part := *e
	part.production = e.production.in(t)
	return &part
}

// edit runs kubectl, and waits until everything is as before, and an event says so. The pods are those from before, with all items.
func (e *editable) edit(command, event string) {
	e.t.Helper()
	start := time.Now()
	names := strings.NewReplacer("CACHE", e.key.Name, "WORKLOAD", strings.ToLower(e.workload))
	for part := range strings.SplitSeq(names.Replace(command), "; ") {
		kubectl(e.t.Context(), e.t, append(strings.Fields(part), "-n", e.key.Namespace)...)
	}
	e.putBack()
	e.t.Logf("it is as before after %s", time.Since(start).Round(100*time.Millisecond))
	if event != "" {
		e.said("DriftRepaired", names.Replace(event))
	}
	e.untouched()
}

// putBack waits until all objects are as before.
func (e *editable) putBack() {
	e.t.Helper()
	must(e.t, walk.Within(e.t.Context(), 30*time.Second, "the objects to be as before", func(ctx context.Context) error {
		now, err := e.owned(ctx)
		if diff := cmp.Diff(e.objects, now); err == nil && diff != "" {
			err = fmt.Errorf("-before +now:\n%s", diff)
		}
		return err
	}))
	e.ready(time.Minute)
}

// untouched fails the test unless the pods are as before, with all items, and no open connection has noticed anything.
func (e *editable) untouched() {
	e.t.Helper()
	if left := e.pods(); len(left) != len(e.before) {
		e.t.Errorf("there are %d pods, want %d", len(left), len(e.before))
	}
	e.same(e.before)
	e.complete(e.servers, editedItems)
	e.unnoticed("open connections", e.open...)
}

// said waits for an event of the cache with a part in its message.
func (p *production) said(reason, part string) {
	p.t.Helper()
	must(p.t, walk.Within(p.t.Context(), 20*time.Second, "an event "+reason, func(ctx context.Context) error {
		events, err := suite.cluster.Kubectl(ctx, "get", "events", "-n", p.key.Namespace, "-o", "jsonpath={.items[*].message}",
			"--field-selector", "involvedObject.kind=Memcached,reason="+reason+",involvedObject.name="+p.key.Name)
		if err == nil && !strings.Contains(events, part) {
			err = fmt.Errorf("%q is missing in:\n%s", part, events)
		}
		return err
	}))
}

// ignoresRestart restarts the rollout of a StatefulSet. No pod restarts, and events say so.
func (e *editable) ignoresRestart() {
	e.t.Helper()
	kubectl(e.t.Context(), e.t, "rollout", "restart", "statefulset", e.key.Name, "-n", e.key.Namespace)
	for name := range e.before {
		e.said("RestartIgnored", name+" was not restarted")
	}
	e.putBack()
	e.untouched()
}

// restarts restarts the rollout of a Deployment. Its pods are replaced, and there are always as many as wanted.
func (e *editable) restarts() {
	t := e.t
	for _, load := range e.open {
		must(t, load.Stop())
	}
	ready, err := observe.WatchPods(t.Context(), suite.cluster.Client, ofCache(e.key)...)
	must(t, err)
	kubectl(t.Context(), t, "rollout", "restart", "deployment", e.key.Name, "-n", e.key.Namespace)
	e.othersThan(e.before)
	e.putBack()
	seen, err := ready.Stop()
	must(t, err)
	if seen.Least < int(e.size) {
		t.Errorf("only %d of %d pods were ready at a time", seen.Least, e.size)
	}
}

// othersThan waits until none of the pods is left.
func (e *editable) othersThan(before map[string]corev1.Pod) {
	e.t.Helper()
	must(e.t, walk.Within(e.t.Context(), 2*time.Minute, "other pods", func(context.Context) error {
		for name := range e.pods() {
			if _, old := before[name]; old {
				return fmt.Errorf("%s is there", name)
			}
		}
		return nil
	}))
}

// pauses pauses a Deployment, which the operator leaves to who did it, and changes the cache. The condition says why nothing happens, and the command
// that ends it.
func (e *editable) pauses() {
	before := e.pods()
	kubectl(e.t.Context(), e.t, "rollout", "pause", "deployment", e.key.Name, "-n", e.key.Namespace)
	e.patch(`{"podLabels":{"changed":"while-paused"}}`)
	message := e.says(time.Minute, cachev1alpha1.ConditionProgressing, cachev1alpha1.ReasonNodesUpdating, "is paused: kubectl rollout resume deployment ")
	e.same(before)
	_, command, _ := strings.Cut(message, "is paused: ")
	newShell(e.t).run(command)
	e.othersThan(before)
	e.ready(time.Minute)
}

// owned returns what the operator says in each object of the cache, by kind and name.
func (e *editable) owned(ctx context.Context) (map[string]any, error) {
	found := map[string]any{}
	for _, kind := range []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: e.workload}, {Group: "apps", Version: "v1", Kind: "ControllerRevision"},
		{Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "Secret"},
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}, {Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	} {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(kind)
		if err := suite.cluster.Client.List(ctx, &list, client.InNamespace(e.key.Namespace), client.MatchingLabels{"app.kubernetes.io/part-of": e.key.Name}); err != nil {
			return nil, err
		}
		for _, object := range list.Items {
			if kind.Kind != "ControllerRevision" || object.GetLabels()["app.kubernetes.io/component"] == "record" { // Not those of Kubernetes.
				found[kind.Kind+" "+object.GetName()] = said(object)
			}
		}
	}
	return found, nil
}

// said returns the part of an object that the operator has an opinion on, and whether Kubernetes has made that true.
func said(object unstructured.Unstructured) map[string]any {
	annotations := object.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		// A record that was deleted notes that it was made from the workload.
		return !strings.HasPrefix(key, "cache.example.com/") || object.GetKind() == "ControllerRevision"
	})
	spec, _, _ := unstructured.NestedMap(object.Object, "spec")
	for _, field := range []string{"clusterIP", "clusterIPs"} {
		delete(spec, field)
	}
	unstructured.RemoveNestedField(spec, "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt")
	if left, _, _ := unstructured.NestedMap(spec, "template", "metadata", "annotations"); len(left) == 0 {
		unstructured.RemoveNestedField(spec, "template", "metadata", "annotations")
	}
	observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	replicas, _, _ := unstructured.NestedInt64(object.Object, "status", "replicas")
	return map[string]any{
		"observed": observed == object.GetGeneration(), "replicas": replicas,
		"labels": object.GetLabels(), "owners": object.GetOwnerReferences(), "annotations": annotations, "spec": spec, "data": object.Object["data"],
	}
}
