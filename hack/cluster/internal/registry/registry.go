// Package registry runs the local image registry and puts images into it. Every image reference, whatever
// registry it names, is served from here under its repository's path.
package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

const configuration = `version: 0.1
log: {level: warn, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: %q}, delete: {enabled: true}}
http: {addr: "127.0.0.1:5000", secret: of one instance, tls: {certificate: %q, key: %q}}
`

func configFile(l host.Layout) string { return l.Cluster("registry.yaml") }

// WriteConfig writes the registry's configuration.
func WriteConfig(l host.Layout) error {
	text := fmt.Sprintf(configuration, l.Cluster("registry"), l.PKI("registry.crt"), l.PKI("registry.key"))
	return host.WriteFile(configFile(l), []byte(text), host.Public)
}

// Process says how the registry is run.
func Process(l host.Layout) (process.Spec, error) {
	path, err := exec.LookPath("docker-registry")
	if err != nil {
		return process.Spec{}, fmt.Errorf("find docker-registry: %w", err)
	}
	return process.Spec{
		Name: "registry", Path: path, Args: []string{"serve", configFile(l)}, Files: []string{configFile(l), l.PKI("registry.crt")},
		Env: []string{"OTEL_TRACES_EXPORTER=none"}, // newer versions send traces to a collector by default
	}, nil
}

// Client pushes to the local registry.
type Client struct {
	transport http.RoundTripper
}

// NewClient trusts the cluster's own authority.
func NewClient(l host.Layout) (*Client, error) {
	authority, err := os.ReadFile(l.PKI("ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read the cluster's authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s holds no certificate", l.PKI("ca.crt"))
	}
	return NewClientWith(&http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}), nil
}

// NewClientWith reaches the registry by the given transport.
func NewClientWith(transport http.RoundTripper) *Client { return &Client{transport: transport} }

// Ready returns nil when the registry answers.
func (c *Client) Ready(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host.Registry+"/v2/", nil)
	if err != nil {
		return fmt.Errorf("ask the registry: %w", err)
	}
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("ask the registry: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the registry answers %s", response.Status)
	}
	return nil
}

// Local returns the reference under which the local registry serves an image: docker.io/library/x:1 as localhost:5000/library/x:1.
func Local(reference string) (name.Reference, error) {
	official, err := name.ParseReference(reference, name.WithDefaultRegistry("docker.io"))
	if err != nil {
		return nil, fmt.Errorf("read the image reference %s: %w", reference, err)
	}
	separator := ":"
	if _, byDigest := official.(name.Digest); byDigest {
		separator = "@"
	}
	return name.ParseReference(host.Registry + "/" + official.Context().RepositoryStr() + separator + official.Identifier())
}

// Digest returns what the registry has under the reference, or "" when it has nothing.
func (c *Client) Digest(ctx context.Context, reference string) (string, error) {
	local, err := Local(reference)
	if err != nil {
		return "", err
	}
	found, err := remote.Head(local, remote.WithTransport(c.transport), remote.WithContext(ctx))
	var refused *transport.Error
	if errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for %s: %w", reference, err)
	}
	return found.Digest.String(), nil
}

// Push stores the image under the reference.
func (c *Client) Push(ctx context.Context, reference string, image v1.Image) error {
	local, err := Local(reference)
	if err != nil {
		return err
	}
	if err := remote.Write(local, image, remote.WithTransport(c.transport), remote.WithContext(ctx)); err != nil {
		return fmt.Errorf("push %s: %w", reference, err)
	}
	return nil
}
