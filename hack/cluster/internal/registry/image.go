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

// Image describes an image of one layer. The same inputs give the same digest on every machine: owners, times and the
// order of files are fixed.
type Image struct {
	// Names are the references that it is served under.
	Names []string
	Files []File
	// Load, if set, returns more files. It is called only when the image is built, so it may be slow. Inputs are the files
	// of this machine that it reads.
	Load   func() ([]File, error)
	Inputs []string
	// User is the numeric user; "" is root.
	User string
	// Path is the variable PATH.
	Path       string
	Entrypoint []string
	Command    []string
	// StopSignal is, for example, SIGQUIT; "" is SIGTERM.
	StopSignal string
	Labels     map[string]string
}

// build builds the image. Its layer is in the file scratch, which must stay until the image is pushed.
func (i Image) build(scratch string) (v1.Image, error) {
	layer, err := i.layer(scratch)
	if err != nil {
		return nil, fmt.Errorf("write the layer: %w", err)
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
	return mutate.ConfigFile(image, file)
}

// layer writes the compressed layer to the scratch file.
func (i Image) layer(scratch string) (v1.Layer, error) {
	files := i.Files
	if i.Load != nil {
		more, err := i.Load()
		if err != nil {
			return nil, err
		}
		files = append(slices.Clone(files), more...)
	}
	file, err := os.Create(scratch)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	// The registry is on this machine: speed matters, size does not.
	compressed, err := gzip.NewWriterLevel(file, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	for _, write := range []func() error{
		func() error { return writeRootfs(compressed, files) }, compressed.Close, file.Close,
	} {
		if err := write(); err != nil {
			return nil, err
		}
	}
	return tarball.LayerFromFile(scratch, tarball.WithMediaType(types.OCILayer))
}
