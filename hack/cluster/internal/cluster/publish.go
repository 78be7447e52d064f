package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/example/memcached-operator/hack/cluster/internal/build"
	"github.com/example/memcached-operator/hack/cluster/internal/controlplane"
	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/olm"
	"github.com/example/memcached-operator/hack/cluster/internal/registry"
)

func (c *Cluster) publisher() (registry.Publisher, error) {
	client, err := registry.NewClient(c.layout)
	if err != nil {
		return registry.Publisher{}, err
	}
	records := c.layout.Cluster("images")
	if err := os.MkdirAll(records, 0o755); err != nil {
		return registry.Publisher{}, fmt.Errorf("make the folder for image records: %w", err)
	}
	return registry.Publisher{Registry: client, Records: records}, nil
}

// pushImages makes the step that provides the images of the cluster itself.
func (c *Cluster) pushImages(t tools, options Options) func(context.Context) error {
	return func(ctx context.Context) error {
		publisher, err := c.publisher()
		if err != nil {
			return err
		}
		list := []registry.Image{registry.PauseImage(t.pause), registry.OLMImage(t.olm), registry.OPMImage(t.opm), registry.UtilityImage()}
		if options.WithSDK {
			list = append(list, registry.ScorecardTestImage(t.sdk))
		}
		group, ctx := errgroup.WithContext(ctx)
		for _, image := range list {
			group.Go(func() error {
				_, err := publisher.Ensure(ctx, image)
				return err
			})
		}
		return group.Wait()
	}
}

// pushOperands makes the step that provides memcached's images and writes the map from official images to them.
func (c *Cluster) pushOperands(t tools) func(context.Context) error {
	return func(ctx context.Context) error {
		publisher, err := c.publisher()
		if err != nil {
			return err
		}
		digests := map[string]string{}
		for _, packages := range t.operands {
			version, err := registry.Version(packages)
			if err != nil {
				return err
			}
			image, err := registry.MemcachedImage(packages)
			if err != nil {
				return err
			}
			if digests[version], err = publisher.Ensure(ctx, image); err != nil {
				return err
			}
		}
		standIns, err := registry.Map(digests)
		if err != nil {
			return err
		}
		data, err := json.MarshalIndent(standIns, "", "  ")
		if err != nil {
			return fmt.Errorf("encode the map of images: %w", err)
		}
		return host.WriteFile(c.layout.OperandMap(), append(data, '\n'), host.Public)
	}
}

// pushWebServer makes the step that provides the image which the sample of an Application names.
func (c *Cluster) pushWebServer(t tools) func(context.Context) error {
	return func(ctx context.Context) error {
		publisher, err := c.publisher()
		if err != nil {
			return err
		}
		_, err = publisher.Ensure(ctx, registry.NginxImage(t.webServer))
		return err
	}
}

// Manifests renders OLM with the images of the local registry.
func (c *Cluster) Manifests(ctx context.Context) (olm.Manifests, error) {
	module, err := c.builder.ModuleDir(ctx, build.OLM, build.OLMModule)
	if err != nil {
		return olm.Manifests{}, err
	}
	return olm.Render(module, build.OLMVersion, registry.OLM, registry.OPM)
}

// applyOLM installs OLM unless it is there.
func (c *Cluster) applyOLM(ctx context.Context) error {
	client, err := controlplane.NewClient(c.layout.Kubeconfig())
	if err != nil {
		return err
	}
	if olm.Working(ctx, client) == nil {
		return nil
	}
	manifests, err := c.Manifests(ctx)
	if err != nil {
		return err
	}
	return olm.Install(ctx, client, manifests)
}

// refuseOLM is an error when a running cluster has OLM. It is not removed: it may be in use.
func (c *Cluster) refuseOLM(ctx context.Context) error {
	if c.Running() != nil {
		return nil
	}
	client, err := controlplane.NewClient(c.layout.Kubeconfig())
	if err != nil {
		return err
	}
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	installed, err := olm.Installed(ctx, client)
	if err != nil || !installed {
		return nil //nolint:nilerr // an API server that does not answer is mended, not asked
	}
	return errors.New("the running cluster has OLM: take it down first (make cluster-down), or uninstall OLM")
}

func (c *Cluster) awaitOLM(ctx context.Context) error {
	client, err := controlplane.NewClient(c.layout.Kubeconfig())
	if err != nil {
		return err
	}
	return olm.Await(ctx, client)
}
