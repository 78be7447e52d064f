package child_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/example/memcached-operator/hack/bench/child"
)

func TestRequestsAreCountedByWhatTheyDo(t *testing.T) {
	const caches = "/apis/cache.example.com/v1alpha1/"
	for request, want := range map[string]child.Call{
		"GET " + caches + "namespaces/a/memcacheds/b":                {Class: child.Read, Verb: "get", Resource: "memcacheds"},
		"GET /api/v1/namespaces/a/events?limit=5":                    {Class: child.Read, Verb: "list", Resource: "events"},
		"GET " + caches + "memcacheds":                               {Class: child.Informer, Verb: "list", Resource: "memcacheds"},
		"GET /api/v1/namespaces/a/pods?watch=true":                   {Class: child.Informer, Verb: "watch", Resource: "pods"},
		"POST /api/v1/namespaces/a/secrets":                          {Class: child.Write, Verb: "create", Resource: "secrets"},
		"PATCH " + caches + "namespaces/a/memcacheds/b/status":       {Class: child.Write, Verb: "patch", Resource: "memcacheds/status"},
		"PATCH /apis/apps/v1/namespaces/a/statefulsets/b?dryRun=All": {Class: child.Write, Verb: "dry run patch", Resource: "statefulsets"},
		"PUT /apis/apps/v1/namespaces/a/deployments/b/scale":         {Class: child.Write, Verb: "update", Resource: "deployments/scale"},
		"DELETE /api/v1/namespaces/a/pods/b":                         {Class: child.Write, Verb: "delete", Resource: "pods"},
		"POST /api/v1/namespaces/a/events":                           {Class: child.Event, Verb: "create", Resource: "events"},
		"PUT /apis/coordination.k8s.io/v1/namespaces/a/leases/b":     {Class: child.Other, Verb: "update", Resource: "leases"},
		"POST /apis/authorization.k8s.io/v1/subjectaccessreviews":    {Class: child.Other, Verb: "create", Resource: "subjectaccessreviews"},
		"GET /apis":    {Class: child.Other, Verb: "get", Resource: "non-resource"},
		"GET /version": {Class: child.Other, Verb: "get", Resource: "non-resource"},
	} {
		traffic := &child.Traffic{}
		send(t, traffic, request)
		counts := traffic.Counts()
		if len(counts) != 1 || counts[0].Count != 1 || counts[0].Call != want {
			t.Errorf("%s is counted as %+v, want %+v", request, counts, want)
		}
	}
}

func TestUsageOfATimeIsWhatWasAddedMeanwhile(t *testing.T) {
	traffic := &child.Traffic{}
	send(t, traffic, "GET /api/v1/namespaces/a/pods/b")
	before := child.Usage{CPU: 1, Reconciles: 3, Calls: traffic.Counts()}
	send(t, traffic, "GET /api/v1/namespaces/a/pods/b")
	send(t, traffic, "DELETE /api/v1/namespaces/a/pods/b")
	send(t, traffic, "DELETE /api/v1/namespaces/other/pods/b")
	used := child.Usage{CPU: 3, RSS: 7, Reconciles: 4, Calls: traffic.Counts()}.Minus(before)
	remove := child.Call{Class: child.Write, Verb: "delete", Resource: "pods"}
	got := []any{used.CPU, used.RSS, used.Reconciles, used.Total(child.Read), used.Total(child.Write), used.In("a").Total(child.Write), used.Count(remove)}
	if difference := cmp.Diff([]any{2.0, uint64(7), 1, 1, 2, 1, 2}, got); difference != "" {
		t.Error(difference)
	}
}

// send sends a request, method and path, which ends nowhere.
func send(t *testing.T, traffic *child.Traffic, request string) {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	nowhere := promhttp.RoundTripperFunc(func(*http.Request) (*http.Response, error) { return &http.Response{}, nil })
	made, err := http.NewRequestWithContext(t.Context(), method, "https://example.com"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := traffic.Wrap(nowhere).RoundTrip(made); err != nil {
		t.Fatal(err)
	}
}
