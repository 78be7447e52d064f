package registry

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// Image describes an image. The same inputs give the same digest on every machine: owners, times and the order of files
// are fixed.
type Image struct {
	// Names are the references that it is served under.
	Names []string
	Files []File
	// Packages are files of Debian packages. The content of each is a layer above Files.
	Packages []string
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

// build builds the image. The layer of its files is in the file scratch, which must stay until the image is pushed.
func (i Image) build(scratch string) (v1.Image, error) {
	files, err := i.layer(scratch)
	if err != nil {
		return nil, fmt.Errorf("write the layer: %w", err)
	}
	layers := []v1.Layer{files}
	for _, file := range i.Packages {
		layer, err := packageLayer(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		layers = append(layers, layer)
	}
	image, err := mutate.AppendLayers(mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1), layers...)
	if err != nil {
		return nil, fmt.Errorf("add the layers: %w", err)
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
		func() error { return writeRootfs(compressed, i.Files) }, compressed.Close, file.Close,
	} {
		if err := write(); err != nil {
			return nil, err
		}
	}
	return tarball.LayerFromFile(scratch, tarball.WithMediaType(types.OCILayer))
}

// packageLayer is the content of a Debian package. The package's scripts do not run.
func packageLayer(file string) (v1.Layer, error) {
	content, err := process.Run(exec.Command("dpkg-deb", "--fsys-tarfile", file))
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }
	return tarball.LayerFromOpener(open, tarball.WithCompressedCaching, tarball.WithMediaType(types.OCILayer))
}
