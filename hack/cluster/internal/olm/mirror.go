package olm

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/example/memcached-operator/hack/cluster/internal/controlplane"
)

// mirroredHost is the only host that the mirror answers for.
const mirroredHost = "github.com:443"

// Mirror is an HTTPS proxy that serves OLM's release page, from which operator-sdk downloads OLM. It answers for github.com
// itself, with a certificate of the cluster's authority. It refuses all other hosts, and forwards nothing to the outside.
type Mirror struct {
	// proxy connects clients to the site.
	proxy, site               *http.Server
	proxyAddress, siteAddress string
}

// ReleasePath is the path of a file of an OLM release on github.com.
func ReleasePath(version, file string) string {
	return "/operator-framework/operator-lifecycle-manager/releases/download/" + version + "/" + file
}

// StartMirror serves files by their paths on github.com. It listens on free ports of the loopback address.
func StartMirror(authority *controlplane.Authority, files map[string][]byte) (*Mirror, error) {
	certificate, err := authority.Sign("github.com")
	if err != nil {
		return nil, fmt.Errorf("issue the mirror's certificate: %w", err)
	}
	const headerTimeout = 10 * time.Second
	m := &Mirror{site: &http.Server{ReadHeaderTimeout: headerTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if content, found := files[r.URL.Path]; found {
			_, _ = w.Write(content) // fails when the client has gone
			return
		}
		http.Error(w, "the offline release mirror has no "+r.URL.Path, http.StatusNotFound)
	})}}
	m.proxy = &http.Server{ReadHeaderTimeout: headerTimeout, Handler: http.HandlerFunc(m.connect)}
	site, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}})
	if err != nil {
		return nil, fmt.Errorf("listen for the mirror: %w", err)
	}
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen for the mirror: %w", err), site.Close())
	}
	m.siteAddress, m.proxyAddress = site.Addr().String(), proxy.Addr().String()
	go func() { _ = m.site.Serve(site) }()
	go func() { _ = m.proxy.Serve(proxy) }()
	return m, nil
}

// URL is the value for HTTPS_PROXY.
func (m *Mirror) URL() string { return "http://" + m.proxyAddress }

// Stop ends the mirror and its connections.
func (m *Mirror) Stop() error { return errors.Join(m.proxy.Close(), m.site.Close()) }

// connect answers a CONNECT request: it connects the client to the site if it asks for github.com.
func (m *Mirror) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "this mirror answers only for https://github.com", http.StatusForbidden)
		return
	}
	site, err := net.Dial("tcp", m.siteAddress)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer site.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer client.Close()
	if r.Host != mirroredHost {
		// Of a refusal, clients show only the reason in the status line.
		_, _ = fmt.Fprintf(client, "HTTP/1.1 403 the offline release mirror serves OLM's manifests from github.com only, not %s\r\n\r\n", r.Host)
		return
	}
	_, _ = fmt.Fprint(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() {
		_, _ = io.Copy(site, buffered) // what the server has already read, and the rest
		_ = site.Close()
	}()
	_, _ = io.Copy(client, site)
}
