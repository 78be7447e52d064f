package olm

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/hack/cluster/internal/controlplane"
)

// client is an HTTPS client that only knows the mirror, as its proxy, and the authority.
func client(t *testing.T) *http.Client {
	t.Helper()
	dir := t.TempDir()
	authority, err := controlplane.OpenAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := StartMirror(authority, map[string][]byte{ReleasePath("v0.46.0", "crds.yaml"): []byte("kind: CustomResourceDefinition\n")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Stop(); err != nil {
			t.Error(err)
		}
	})
	proxy, err := url.Parse(m.URL())
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

const releases = "https://github.com/operator-framework/operator-lifecycle-manager/releases/download/"

func get(t *testing.T, c *http.Client, address string) (status int, body string) {
	t.Helper()
	response, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

func TestTheReleaseIsServedOverTheSameConnection(t *testing.T) {
	c := client(t)
	for range 2 {
		if status, body := get(t, c, releases+"v0.46.0/crds.yaml"); status != http.StatusOK || !strings.Contains(body, "CustomResourceDefinition") {
			t.Errorf("got %d %q", status, body)
		}
	}
}

func TestAnotherReleaseIsNotFound(t *testing.T) {
	if status, _ := get(t, client(t), releases+"v0.1.0/crds.yaml"); status != http.StatusNotFound {
		t.Errorf("got %d", status)
	}
}

func TestAnotherHostIsRefusedWithAReason(t *testing.T) {
	response, err := client(t).Get("https://example.com/")
	if err == nil {
		response.Body.Close()
		t.Fatal("the mirror answered for example.com")
	}
	if !strings.Contains(err.Error(), "offline release mirror") || !strings.Contains(err.Error(), "example.com") {
		t.Errorf("the error does not say why: %v", err)
	}
}
