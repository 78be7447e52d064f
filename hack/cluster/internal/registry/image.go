package registry

import (
	"compress/gzip"
	"fmt"
	"os"
	"runtime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image is an image of one layer.
type Image struct {
	// Names are the references it is served under.
	Names []string
	Files []File
	// Load, when set, gives further files. It is called only when the image must be built, so it may be slow;
	// Inputs are the files of this machine that it works from.
	Load   func() ([]File, error)
	Inputs []string
	// User is the numeric user that it runs as; "" is root.
	User       string
	Path       string
	Entrypoint []string
	Command    []string
	// StopSignal is what tells the program to end, for example SIGQUIT; "" is SIGTERM.
	StopSignal string
	Labels     map[string]string
}

// build makes the image. The layer is kept in the file called scratch until the image has been pushed.
func (i Image) build(scratch string) (v1.Image, error) {
	layer, err := i.layer(scratch)
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1), layer)
	if err != nil {
		return nil, fmt.Errorf("add the layer: %w", err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the image's configuration: %w", err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", runtime.GOARCH
	file.Config = v1.Config{
		User: i.User, Entrypoint: i.Entrypoint, Cmd: i.Command, StopSignal: i.StopSignal, Labels: i.Labels,
		Env: []string{"PATH=" + i.Path},
	}
	image, err = mutate.ConfigFile(image, file)
	if err != nil {
		return nil, fmt.Errorf("set the image's configuration: %w", err)
	}
	return image, nil
}

// layer writes the compressed layer into the scratch file.
func (i Image) layer(scratch string) (v1.Layer, error) {
	file, err := os.Create(scratch)
	if err != nil {
		return nil, fmt.Errorf("make a file for the layer: %w", err)
	}
	defer file.Close()
	// The registry is on this machine: speed matters, size does not.
	compressed, err := gzip.NewWriterLevel(file, gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("compress the layer: %w", err)
	}
	files := i.Files
	if i.Load != nil {
		more, err := i.Load()
		if err != nil {
			return nil, err
		}
		files = append(slices.Clone(files), more...)
	}
	for _, write := range []func() error{
		func() error { return writeRootfs(compressed, files) }, compressed.Close, file.Close,
	} {
		if err := write(); err != nil {
			return nil, fmt.Errorf("write the layer: %w", err)
		}
	}
	layer, err := tarball.LayerFromFile(scratch, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("read the layer: %w", err)
	}
	return layer, nil
}
