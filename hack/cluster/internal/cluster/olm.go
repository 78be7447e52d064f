package cluster

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/hack/cluster/internal/build"
	"github.com/example/memcached-operator/hack/cluster/internal/controlplane"
	"github.com/example/memcached-operator/hack/cluster/internal/olm"
	"github.com/example/memcached-operator/hack/cluster/internal/registry"
)

// manifests renders OLM with the images of the local registry.
func (c *Cluster) manifests(ctx context.Context) (olm.Manifests, error) {
	module, err := c.builder.ModuleDir(ctx, build.OLM, build.OLMModule)
	if err != nil {
		return olm.Manifests{}, err
	}
	return olm.Render(module, build.OLMVersion, registry.OLM, registry.OPM)
}

// applyOLM installs OLM unless it works already.
func (c *Cluster) applyOLM(ctx context.Context) error {
	client, err := controlplane.NewClient(c.Layout.Kubeconfig())
	if err != nil {
		return err
	}
	if olm.Working(ctx, client) == nil {
		return nil
	}
	manifests, err := c.manifests(ctx)
	if err != nil {
		return err
	}
	return olm.Install(ctx, client, manifests)
}

func (c *Cluster) awaitOLM(ctx context.Context) error {
	client, err := controlplane.NewClient(c.Layout.Kubeconfig())
	if err != nil {
		return err
	}
	return olm.Await(ctx, client)
}

// hasOLM reports whether the cluster runs with OLM. An API server that does not answer counts as one without: Up repairs it.
func (c *Cluster) hasOLM(ctx context.Context) bool {
	if c.Running() != nil {
		return false
	}
	client, err := controlplane.NewClient(c.Layout.Kubeconfig())
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return olm.Installed(ctx, client)
}

// Mirror starts the mirror of OLM's release page, with the manifests that this cluster installs.
func (c *Cluster) Mirror(ctx context.Context) (*olm.Mirror, error) {
	if _, err := os.Stat(c.Layout.TrustBundle()); err != nil {
		return nil, fmt.Errorf("the mirror needs the certificate authority of the local cluster: run `make cluster` first: %w", err)
	}
	manifests, err := c.manifests(ctx)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, objects := range map[string][]*unstructured.Unstructured{"crds.yaml": manifests.CRDs, "olm.yaml": manifests.Objects} {
		if files[olm.ReleasePath(build.OLMVersion, name)], err = olm.YAML(objects); err != nil {
			return nil, err
		}
	}
	authority, err := controlplane.OpenAuthority(c.Layout.Cluster("pki"))
	if err != nil {
		return nil, err
	}
	return olm.StartMirror(authority, files)
}
