// Package registry runs the local image registry, and builds the images that it serves. It serves every image under the
// path of its repository, whatever registry the reference names. It pulls no image from another registry.
package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	certutil "k8s.io/client-go/util/cert"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

const config = `version: 0.1
log: {level: warn, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: %q}, delete: {enabled: true}}
http: {addr: "127.0.0.1:5000", secret: of one instance, tls: {certificate: %q, key: %q}}
`

func configFile(l host.Layout) string { return l.Cluster("registry.yaml") }

// ConfigFiles returns the registry's configuration: content by path.
func ConfigFiles(l host.Layout) map[string]string {
	return map[string]string{configFile(l): fmt.Sprintf(config, l.Cluster("registry"), l.PKI("registry.crt"), l.PKI("registry.key"))}
}

// Process describes the registry's process.
func Process(l host.Layout) process.Spec {
	return process.Spec{
		Name: "registry", Path: "docker-registry", Args: []string{"serve", configFile(l)},
		Files: []string{configFile(l), l.PKI("registry.crt")},
		Env:   []string{"OTEL_TRACES_EXPORTER=none"}, // newer versions send traces to a collector by default
		Ready: process.HTTPReady("https://" + host.Registry + "/v2/"),
	}
}

// Client builds images and pushes them to the local registry.
type Client struct {
	transport http.RoundTripper
	// records is a folder with one record per image.
	records string
}

// NewClient returns a client that trusts the cluster's certificate authority.
func NewClient(l host.Layout) (*Client, error) {
	pool, err := certutil.NewPool(l.PKI("ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read the cluster's certificate authority: %w", err)
	}
	records := l.Cluster("images")
	if err := os.MkdirAll(records, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for image records: %w", err)
	}
	return &Client{transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}, records: records}, nil
}

// local returns the reference of an image in the local registry: localhost:5000/library/x:1 for docker.io/library/x:1.
func local(reference string) (name.Reference, error) {
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

func (c *Client) options(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithTransport(c.transport), remote.WithContext(ctx)}
}

// digest returns the digest of an image in the registry, or "" if it is not there.
func (c *Client) digest(ctx context.Context, reference string) (string, error) {
	local, err := local(reference)
	if err != nil {
		return "", err
	}
	found, err := remote.Head(local, c.options(ctx)...)
	var refused *transport.Error
	if errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for %s: %w", reference, err)
	}
	return found.Digest.String(), nil
}

// push stores the image under the reference.
func (c *Client) push(ctx context.Context, reference string, image v1.Image) error {
	local, err := local(reference)
	if err != nil {
		return err
	}
	if err := remote.Write(local, image, c.options(ctx)...); err != nil {
		return fmt.Errorf("push %s: %w", reference, err)
	}
	return nil
}
