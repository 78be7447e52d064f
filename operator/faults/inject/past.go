package inject

import (
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Past lets lists show what was there some time ago, as an API server does that lags behind.
type Past struct {
	mutex    sync.Mutex
	revision string
}

// Show lets lists show a revision from now on, the present if it is empty.
func (p *Past) Show(revision string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.revision = revision
}

// Watch lets a watch that begins with a list fail, so that the client lists instead: such a watch shows nothing but the present.
func (p *Past) Watch(otherwise Action) Action {
	return func(request *http.Request, send http.RoundTripper) (*http.Response, error) {
		if p.shown() != "" && request.URL.Query().Has("sendInitialEvents") {
			return answer(request, apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil))
		}
		return otherwise(request, send)
	}
}

// Again lets a watch begin at the revision, so that the client gets events once more.
func (p *Past) Again(request *http.Request, send http.RoundTripper) (*http.Response, error) {
	query := request.URL.Query()
	revision := p.shown()
	if revision == "" || query.Get("resourceVersion") == "" || query.Has("sendInitialEvents") {
		return send.RoundTrip(request)
	}
	request = request.Clone(request.Context())
	query.Set("resourceVersion", revision)
	request.URL.RawQuery = query.Encode()
	return send.RoundTrip(request)
}

func (p *Past) shown() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.revision
}

// List lets a list show the revision.
func (p *Past) List(request *http.Request, send http.RoundTripper) (*http.Response, error) {
	if revision := p.shown(); revision != "" {
		request = request.Clone(request.Context())
		query := request.URL.Query()
		query.Set("resourceVersion", revision)
		query.Set("resourceVersionMatch", "Exact")
		request.URL.RawQuery = query.Encode()
	}
	return send.RoundTrip(request)
}
