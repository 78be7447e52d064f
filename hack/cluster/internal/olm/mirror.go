// Package mirror stands in for the one release page that operator-sdk downloads OLM from. It is an HTTPS proxy that answers for
// github.com itself, with a certificate of the cluster's authority, and refuses everything else. Nothing is forwarded.
package olm

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/example/memcached-operator/hack/cluster/internal/controlplane"
)

// mirroredHost is the only one answered for.
const mirroredHost = "github.com:443"

// Mirror serves files by their paths on github.com.
type Mirror struct {
	listener net.Listener
	proxy    *http.Server
	tls      *tls.Config
	files    map[string][]byte
}

// ReleasePath is the path of a file of an OLM release.
func ReleasePath(version, file string) string {
	return "/operator-framework/operator-lifecycle-manager/releases/download/" + version + "/" + file
}

// StartMirror listens on a free port of the loopback address.
func StartMirror(authority *controlplane.Authority, files map[string][]byte) (*Mirror, error) {
	cert, key, err := authority.Sign("github.com")
	if err != nil {
		return nil, fmt.Errorf("issue the mirror's certificate: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the mirror: %w", err)
	}
	m := &Mirror{
		listener: listener,
		files:    files,
		tls: &tls.Config{
			MinVersion:   tls.VersionTLS12,
			Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}},
		},
	}
	const headerTimeout = 10 * time.Second
	m.proxy = &http.Server{Handler: http.HandlerFunc(m.connect), ReadHeaderTimeout: headerTimeout}
	go func() { _ = m.proxy.Serve(listener) }()
	return m, nil
}

// URL is what HTTPS_PROXY is to be set to.
func (m *Mirror) URL() string { return "http://" + m.listener.Addr().String() }

// Stop ends the mirror.
func (m *Mirror) Stop(ctx context.Context) error {
	if err := m.proxy.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("stop the mirror: %w", err)
	}
	return nil
}

// connect answers a CONNECT: it plays github.com at the other end of the tunnel.
func (m *Mirror) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "this mirror answers only for https://github.com", http.StatusForbidden)
		return
	}
	connection, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer connection.Close()
	if r.Host != mirroredHost {
		// Clients show the reason of the status line, and nothing else of a refusal.
		_, _ = fmt.Fprintf(connection, "HTTP/1.1 403 the offline release mirror serves OLM's manifests from github.com only, not %s\r\n\r\n", r.Host)
		return
	}
	if _, err := fmt.Fprint(connection, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return // the client has gone
	}
	m.serve(tls.Server(&peeked{Conn: connection, reader: buffered.Reader}, m.tls))
}

// serve answers requests on one connection until the client closes it.
func (m *Mirror) serve(connection net.Conn) {
	defer connection.Close()
	reader := bufio.NewReader(connection)
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		if m.answer(request).Write(connection) != nil {
			return
		}
	}
}

func (m *Mirror) answer(request *http.Request) *http.Response {
	body, found := m.files[request.URL.Path]
	status := http.StatusOK
	if !found {
		status = http.StatusNotFound
		body = []byte("the offline release mirror has no " + request.URL.Path + "\n")
	}
	return respond(request, status, body)
}

// peeked reads first what the server had buffered of the connection before it was taken over.
type peeked struct {
	net.Conn
	reader *bufio.Reader
}

func (p *peeked) Read(b []byte) (int, error) { return p.reader.Read(b) }
