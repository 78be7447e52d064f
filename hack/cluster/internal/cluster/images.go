package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/example/memcached-operator/hack/cluster/internal/build"
	"github.com/example/memcached-operator/hack/cluster/internal/debian"
	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/registry"
)

// pushImages returns the Up of the step that provides the images of the cluster itself.
func (c *Cluster) pushImages(folders map[string]string, options Options) func(context.Context) error {
	images := []registry.Image{
		registry.PauseImage(folders[build.Pause.Module]), registry.OLMImage(folders[build.OLM.Module]),
		registry.OPMImage(folders[build.OPM.Module]), registry.UtilityImage(),
	}
	if options.WithSDK {
		images = append(images, registry.ScorecardTestImage(folders[build.OperatorSDK.Module]))
	}
	return func(ctx context.Context) error {
		client, err := registry.NewClient(c.Layout)
		if err != nil {
			return err
		}
		group, ctx := errgroup.WithContext(ctx)
		for _, image := range images {
			group.Go(func() error {
				_, err := client.Ensure(ctx, image)
				return err
			})
		}
		return group.Wait()
	}
}

// pushMemcached provides memcached's images, and writes the map from official images to them.
func (c *Cluster) pushMemcached(ctx context.Context) error {
	client, err := registry.NewClient(c.Layout)
	if err != nil {
		return err
	}
	downloads, err := c.memcachedPackages()
	if err != nil {
		return err
	}
	digests := map[string]string{}
	for _, packages := range downloads {
		version, err := registry.MemcachedVersion(packages)
		if err != nil {
			return err
		}
		image, err := registry.MemcachedImage(packages)
		if err != nil {
			return err
		}
		if digests[version], err = client.Ensure(ctx, image); err != nil {
			return err
		}
	}
	replacements, err := registry.MemcachedReplacements(digests)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(replacements, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the map of images: %w", err)
	}
	return host.WriteFile(c.Layout.Cluster("images.json"), append(data, '\n'), host.Public)
}

// pushNginx provides the image that the sample of an Application names.
func (c *Cluster) pushNginx(ctx context.Context) error {
	client, err := registry.NewClient(c.Layout)
	if err != nil {
		return err
	}
	packages, err := debian.Packages(c.debs(registry.NginxPackage))
	if err != nil {
		return err
	}
	_, err = client.Ensure(ctx, registry.NginxImage(packages))
	return err
}
