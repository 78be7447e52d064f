package cluster

import (
	"context"
	"fmt"
	"os"

	"github.com/example/memcached-operator/hack/cluster/internal/build"
	"github.com/example/memcached-operator/hack/cluster/internal/controlplane"
	"github.com/example/memcached-operator/hack/cluster/internal/olm"
)

// Mirror starts the release mirror with OLM as this cluster would install it.
func (c *Cluster) Mirror(ctx context.Context) (*olm.Mirror, error) {
	if _, err := os.Stat(c.layout.TrustBundle()); err != nil {
		return nil, fmt.Errorf("the mirror uses the local cluster's certificate authority, which is not there yet: run `make cluster` first: %w", err)
	}
	manifests, err := c.Manifests(ctx)
	if err != nil {
		return nil, err
	}
	definitions, err := olm.YAML(manifests.CRDs)
	if err != nil {
		return nil, err
	}
	objects, err := olm.YAML(manifests.Objects)
	if err != nil {
		return nil, err
	}
	authority, err := controlplane.OpenAuthority(c.layout.Cluster("pki"))
	if err != nil {
		return nil, err
	}
	return olm.StartMirror(authority, map[string][]byte{
		olm.ReleasePath(build.OLMVersion, "crds.yaml"): definitions,
		olm.ReleasePath(build.OLMVersion, "olm.yaml"):  objects,
	})
}
