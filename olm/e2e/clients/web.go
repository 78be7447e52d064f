package clients

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
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

// Through sends all requests to an address, as a client does whose DNS finds a proxy for the host of the URL. The configuration is
// that of HTTPS.
func (w *Web) Through(address string, config *tls.Config) *Web {
	dialer := &net.Dialer{}
	w.client.Transport = &http.Transport{DisableKeepAlives: true, TLSClientConfig: config,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		}}
	return w
}

// Name implements Server.
func (w *Web) Name() string { return w.name }

// Ask implements Server.
func (w *Web) Ask(ctx context.Context, done func(error)) { done(w.get(ctx)) }

func (w *Web) get(ctx context.Context) error {
	_, err := w.Page(ctx)
	return err
}

// Page requests the page, and returns its content. Another status than 200 is an error.
func (w *Web) Page(ctx context.Context) (content []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url, nil)
	if err != nil {
		return nil, err
	}
	response, err := w.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if content, err = io.ReadAll(response.Body); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s", response.Status)
	}
	return content, nil
}

// Close implements Server. No connection stays open.
func (w *Web) Close() error { return nil }
