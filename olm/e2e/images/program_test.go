package images

import (
	"archive/tar"
	"errors"
	"io"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

func TestTheImageHoldsTheProgramAndNothingElse(t *testing.T) {
	image, err := assemble("webapp", []byte("a program"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if file.OS != "linux" || file.Architecture != "amd64" || file.Config.User != user || len(file.Config.Entrypoint) != 1 || file.Config.Entrypoint[0] != "/webapp" {
		t.Errorf("configuration is %+v", file)
	}
	stream := mutate.Extract(image)
	defer stream.Close()
	found := map[string]string{}
	for archive := tar.NewReader(stream); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if header.Mode&0o111 == 0 {
			t.Errorf("%s has mode %o and cannot be run", header.Name, header.Mode)
		}
		found["/"+header.Name] = string(content)
	}
	if len(found) != 1 || found["/webapp"] != "a program" {
		t.Errorf("found %v", found)
	}
}

func TestTheSameSourceGivesTheSameImage(t *testing.T) {
	digest := func() string {
		t.Helper()
		image, err := build(t.Context(), "../../..", "webapp", "webapp")
		if err != nil {
			t.Fatal(err)
		}
		sum, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return sum.String()
	}
	if a, b := digest(), digest(); a != b {
		t.Errorf("digests differ: %s and %s", a, b)
	}
}
