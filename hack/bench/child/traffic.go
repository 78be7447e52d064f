package child

import (
	"cmp"
	"net/http"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Class says what a request counts as.
type Class string

// The classes of requests.
const (
	// Read is a get, or a list in one namespace.
	Read Class = "read"

	// Write creates, changes or deletes something. A dry run is one too: it costs the API server the same.
	Write Class = "write"

	// Informer is what fills a cache: a watch, or a list of all namespaces.
	Informer Class = "informer"

	// Event is an event that tells people something.
	Event Class = "event"

	// Other is discovery, health, leases and reviews of access.
	Other Class = "other"
)

// Call is a kind of request.
type Call struct {
	Class Class `json:"class"`
	// Verb is that of Kubernetes (get, list, watch, create, update, patch, delete), with "dry run " before it if it is one.
	Verb string `json:"verb"`
	// Resource is the plural, with the subresource after a slash.
	Resource string `json:"resource"`
}

// Place is a Call in a namespace, empty for none.
type Place struct {
	Call
	Namespace string `json:"namespace,omitempty"`
}

// Count is how often a Call was made in a namespace.
type Count struct {
	Place
	Count int `json:"count"`
}

// Traffic counts the requests of a process.
type Traffic struct {
	lock   sync.Mutex
	counts map[Place]int
}

// Wrap is for rest.Config.Wrap.
func (t *Traffic) Wrap(next http.RoundTripper) http.RoundTripper {
	info := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	return promhttp.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if parsed, err := info.NewRequestInfo(r); err == nil {
			t.add(Place{classify(parsed, r.URL.Query().Has("dryRun")), parsed.Namespace})
		}
		return next.RoundTrip(r)
	})
}

func (t *Traffic) add(place Place) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.counts == nil {
		t.counts = map[Place]int{}
	}
	t.counts[place]++
}

// Counts returns all counts, in a stable order.
func (t *Traffic) Counts() []Count {
	t.lock.Lock()
	defer t.lock.Unlock()
	var all []Count
	for place, count := range t.counts {
		all = append(all, Count{place, count})
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Namespace, b.Namespace))
	})
	return all
}

func classify(info *request.RequestInfo, dryRun bool) Call {
	call := Call{Class: Write, Verb: info.Verb, Resource: info.Resource}
	if info.Subresource != "" {
		call.Resource += "/" + info.Subresource
	}
	if dryRun {
		call.Verb = "dry run " + call.Verb
	}
	switch {
	case !info.IsResourceRequest:
		return Call{Class: Other, Verb: info.Verb, Resource: "non-resource"}
	case info.Resource == "events" && info.Verb != "list":
		call.Class = Event
	case info.Resource == "leases" || info.APIGroup == "authentication.k8s.io" || info.APIGroup == "authorization.k8s.io":
		call.Class = Other
	case info.Verb == "watch" || info.Verb == "list" && info.Namespace == "":
		call.Class = Informer
	case info.Verb == "get" || info.Verb == "list":
		call.Class = Read
	}
	return call
}
