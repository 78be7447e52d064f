package oci_test

import (
	"archive/tar"
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/example/memcached-operator/hack/internal/testkit"
	"github.com/example/memcached-operator/hack/oci"
)

// built returns an image as a builder makes it: with the layers, and with what builders add.
func built(t *testing.T, config v1.Config, created time.Time, layers ...[]tar.Header) v1.Image {
	t.Helper()
	image := empty.Image
	for _, headers := range layers {
		var archive bytes.Buffer
		writer := tar.NewWriter(&archive)
		for _, header := range headers {
			content := []byte("content of " + strings.TrimPrefix(header.Name, "./"))
			if header.Typeflag == tar.TypeReg {
				header.Size = int64(len(content))
			}
			if err := writer.WriteHeader(&header); err != nil {
				t.Fatal(err)
			}
			if header.Typeflag == tar.TypeReg {
				if _, err := writer.Write(content); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		layer := testkit.Must(tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }))(t)
		history := v1.History{CreatedBy: "somebody", Created: v1.Time{Time: created}}
		image = testkit.Must(mutate.Append(image, mutate.Addendum{Layer: layer, History: history}))(t)
	}
	file := testkit.Must(image.ConfigFile())(t).DeepCopy()
	file.Architecture, file.OS, file.Config, file.Created = "amd64", "linux", config, v1.Time{Time: created}
	image = testkit.Must(mutate.ConfigFile(image, file))(t)
	return image
}

func digest(t *testing.T, image v1.Image) string {
	t.Helper()
	return testkit.Must(testkit.Must(oci.Canonical(image))(t).Digest())(t).String()
}

var (
	file = tar.Header{Typeflag: tar.TypeReg, Name: "manager", Mode: 0o755}
	data = tar.Header{Typeflag: tar.TypeReg, Name: "configs/pkg/catalog.yaml", Mode: 0o644}
)

func TestCanonicalDigestDoesNotDependOnTheBuilder(t *testing.T) {
	one := built(t, v1.Config{
		User: "65532", Entrypoint: []string{"/manager"}, Labels: map[string]string{"a": "b", "io.buildah.version": "1.28"},
	}, time.Unix(0, 0), []tar.Header{file, data})

	dir := tar.Header{Typeflag: tar.TypeDir, Name: "./configs/", Mode: 0o700, Uid: 1000, ModTime: time.Unix(99, 0)}
	otherData, otherFile := data, file
	otherData.Name, otherData.Mode, otherData.Uname = "./"+data.Name, 0o664, "me"
	otherFile.Name, otherFile.ModTime = "./"+file.Name, time.Unix(12345, 0)
	two := built(t, v1.Config{
		User: "65532", Entrypoint: []string{"/manager"}, Labels: map[string]string{"a": "b"}, WorkingDir: "/",
		Env: []string{"PATH=/usr/bin"},
	}, time.Unix(777, 0), []tar.Header{dir, otherData}, []tar.Header{otherFile})

	if a, b := digest(t, one), digest(t, two); a != b {
		t.Errorf("%s and %s", a, b)
	}
}

func TestCanonicalDigestDependsOnTheContent(t *testing.T) {
	config := v1.Config{Entrypoint: []string{"/manager"}}
	base := digest(t, built(t, config, time.Unix(0, 0), []tar.Header{file}))
	notExecutable, renamed := file, file
	notExecutable.Mode, renamed.Name = 0o644, "other"
	for name, image := range map[string]v1.Image{
		"a file more":         built(t, config, time.Unix(0, 0), []tar.Header{file, data}),
		"no longer runnable":  built(t, config, time.Unix(0, 0), []tar.Header{notExecutable}),
		"another name":        built(t, config, time.Unix(0, 0), []tar.Header{renamed}),
		"another user":        built(t, v1.Config{Entrypoint: config.Entrypoint, User: "1"}, time.Unix(0, 0), []tar.Header{file}),
		"another label":       built(t, v1.Config{Entrypoint: config.Entrypoint, Labels: map[string]string{"x": "y"}}, time.Unix(0, 0), []tar.Header{file}),
		"another environment": built(t, v1.Config{Entrypoint: config.Entrypoint, Env: []string{"A=B"}}, time.Unix(0, 0), []tar.Header{file}),
	} {
		if digest(t, image) == base {
			t.Errorf("%s: the digest is the same", name)
		}
	}
}

func TestCanonicalIsIdempotent(t *testing.T) {
	once := testkit.Must(oci.Canonical(built(t, v1.Config{User: "1"}, time.Unix(5, 0), []tar.Header{file, data})))(t)
	d := testkit.Must(once.Digest())(t)
	if again := digest(t, once); again != d.String() {
		t.Errorf("%s became %s", d, again)
	}
}

func TestCanonicalKeepsFiles(t *testing.T) {
	link := tar.Header{Typeflag: tar.TypeSymlink, Name: "bin", Linkname: "usr/bin", Mode: 0o777}
	image := testkit.Must(oci.Canonical(built(t, v1.Config{}, time.Unix(5, 0), []tar.Header{file, data, link})))(t)
	var got []string
	stream := mutate.Extract(image)
	defer stream.Close()
	for archive := tar.NewReader(stream); ; {
		header, err := archive.Next()
		if err != nil {
			break
		}
		content := testkit.Must(io.ReadAll(archive))(t)
		got = append(got, header.Name+" "+header.FileInfo().Mode().String()+" "+header.Linkname+string(content))
	}
	want := []string{
		"bin Lrwxrwxrwx usr/bin",
		"configs drwxr-xr-x ",
		"configs/pkg drwxr-xr-x ",
		"configs/pkg/catalog.yaml -rw-r--r-- content of configs/pkg/catalog.yaml",
		"manager -rwxr-xr-x content of manager",
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCanonicalRefusesSpecialFiles(t *testing.T) {
	setuid, device := file, tar.Header{Typeflag: tar.TypeChar, Name: "dev/null"}
	setuid.Mode = 0o4755
	for want, header := range map[string]tar.Header{"setuid": setuid, "neither a file": device} {
		if _, err := oci.Canonical(built(t, v1.Config{}, time.Unix(0, 0), []tar.Header{header})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
