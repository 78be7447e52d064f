// Package oci compiles programs reproducibly, rewrites images so that their digests are reproducible, keeps them on this
// machine and pushes them. How each image of the project is built is in package build.
package oci

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
)

// epoch is the time of everything in an image.
var epoch = time.Unix(0, 0).UTC()

// builderLabels are prefixes of the labels that builders add.
var builderLabels = []string{"io.buildah.", "io.podman.", "com.docker."}

// Canonical rewrites an image so that its digest depends only on its content, and not on its builder. It has one layer with
// sorted entries, which are owned by root, dated at the Unix epoch and have one of two modes. go.mod pins the compressor.
// It has no history and no labels of builders. Devices, and files with setuid, setgid or sticky bits, are errors, because
// the image would not work the same without them.
func Canonical(in v1.Image) (v1.Image, error) {
	config, err := in.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the image's configuration: %w", err)
	}
	files, err := contents(in)
	if err != nil {
		return nil, err
	}
	layer, err := pack(files)
	if err != nil {
		return nil, err
	}
	out := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	out = mutate.ConfigMediaType(out, types.OCIConfigJSON)
	if out, err = mutate.Append(out, mutate.Addendum{Layer: layer}); err != nil {
		return nil, fmt.Errorf("add the layer: %w", err)
	}
	appended, err := out.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the new configuration: %w", err)
	}
	out, err = mutate.ConfigFile(out, &v1.ConfigFile{
		Architecture: config.Architecture,
		OS:           config.OS,
		Created:      v1.Time{Time: epoch},
		RootFS:       appended.RootFS,
		Config:       runtime(config.Config),
	})
	if err != nil {
		return nil, fmt.Errorf("set the configuration: %w", err)
	}
	return out, nil
}

// runtime returns the configuration that a Dockerfile can set.
func runtime(in v1.Config) v1.Config {
	labels := maps.Clone(in.Labels)
	maps.DeleteFunc(labels, func(name, _ string) bool {
		return slices.ContainsFunc(builderLabels, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
	workingDir := in.WorkingDir
	if workingDir == "/" { // Some builders write the default, others omit it.
		workingDir = ""
	}
	return v1.Config{
		User: in.User, Entrypoint: in.Entrypoint, Cmd: in.Cmd, Env: withoutPath(in.Env), Labels: labels,
		WorkingDir: workingDir, ExposedPorts: in.ExposedPorts, Volumes: in.Volumes, StopSignal: in.StopSignal,
	}
}

// withoutPath drops the PATH that builders add. The project's images call no program by its bare name.
func withoutPath(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, "PATH=") })
}

// entry is a file (content), a directory, or a symbolic link (target).
type entry struct {
	kind       byte
	executable bool
	content    []byte
	target     string
}

// contents returns all files of an image by clean path without a leading slash. It includes the parent directories of
// files, even if the image does not list them.
func contents(in v1.Image) (map[string]entry, error) {
	stream := mutate.Extract(in)
	defer stream.Close()
	files := map[string]entry{}
	for archive := tar.NewReader(stream); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the image's files: %w", err)
		}
		name := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
		if name == "" {
			continue
		}
		e, err := read(header, archive)
		if err != nil {
			return nil, fmt.Errorf("/%s: %w", name, err)
		}
		files[name] = e
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			files[dir] = entry{kind: tar.TypeDir}
		}
	}
}

func read(header *tar.Header, content io.Reader) (entry, error) {
	const special = 0o7000
	if header.Mode&special != 0 {
		return entry{}, fmt.Errorf("mode %o has a setuid, setgid or sticky bit, which images of this project must not have", header.Mode)
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return entry{kind: tar.TypeDir}, nil
	case tar.TypeSymlink:
		return entry{kind: tar.TypeSymlink, target: header.Linkname}, nil
	case tar.TypeReg:
		all, err := io.ReadAll(content)
		if err != nil {
			return entry{}, fmt.Errorf("read its content: %w", err)
		}
		return entry{kind: tar.TypeReg, content: all, executable: header.Mode&0o111 != 0}, nil
	}
	return entry{}, fmt.Errorf("an entry of type %q is neither a file, a directory nor a symbolic link", header.Typeflag)
}

// pack returns the files as one compressed layer.
func pack(files map[string]entry) (v1.Layer, error) {
	var compressed bytes.Buffer
	gz, err := gzip.NewWriterLevel(&compressed, gzip.DefaultCompression)
	if err != nil {
		return nil, fmt.Errorf("start compressing: %w", err)
	}
	archive := tar.NewWriter(gz)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := write(archive, name, files[name]); err != nil {
			return nil, fmt.Errorf("pack /%s: %w", name, err)
		}
	}
	if err := errors.Join(archive.Close(), gz.Close()); err != nil {
		return nil, fmt.Errorf("finish the layer: %w", err)
	}
	content := compressed.Bytes()
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("make the layer: %w", err)
	}
	return layer, nil
}

func write(archive *tar.Writer, name string, e entry) error {
	header := &tar.Header{
		Typeflag: e.kind, Name: name, Linkname: e.target, Size: int64(len(e.content)), Mode: 0o644,
		ModTime: epoch, Format: tar.FormatPAX,
	}
	switch {
	case e.kind == tar.TypeDir:
		header.Name, header.Mode = name+"/", 0o755
	case e.kind == tar.TypeSymlink:
		header.Mode = 0o777
	case e.executable:
		header.Mode = 0o755
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := archive.Write(e.content)
	return err
}
