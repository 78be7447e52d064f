package inject

import (
	"net/http"
	"sync"
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

// List lets a list show the revision.
func (p *Past) List(request *http.Request, send http.RoundTripper) (*http.Response, error) {
	p.mutex.Lock()
	revision := p.revision
	p.mutex.Unlock()
	if revision != "" {
		request = request.Clone(request.Context())
		query := request.URL.Query()
		query.Set("resourceVersion", revision)
		query.Set("resourceVersionMatch", "Exact")
		request.URL.RawQuery = query.Encode()
	}
	return send.RoundTrip(request)
}
