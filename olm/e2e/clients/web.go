package clients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Web is a web server by its URL. A round is one request on a new connection: a server may close an idle connection at any
// time, and Go's client would then repeat the request.
type Web struct {
	name, url string
	client    *http.Client
}

// NewWeb returns a server with this name.
func NewWeb(name, url string) *Web {
	return &Web{name: name, url: url, client: &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}}
}

// Name implements Server.
func (w *Web) Name() string { return w.name }

// Ask implements Server.
func (w *Web) Ask(ctx context.Context, done func(error)) { done(w.get(ctx)) }

func (w *Web) get(ctx context.Context) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url, nil)
	if err != nil {
		return err
	}
	response, err := w.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", response.Status)
	}
	return nil
}

// Close implements Server. No connection stays open.
func (w *Web) Close() error { return nil }
