package oci_test

import (
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/example/memcached-operator/hack/oci"
)

func TestAnImageIsKeptUntilAnotherTakesItsName(t *testing.T) {
	dir := t.TempDir()
	first, second := randomImage(t), randomImage(t)
	for _, next := range []v1.Image{first, second} {
		kept, err := oci.OpenStore(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := kept.Put("quay.io/example/x:1", next); err != nil {
			t.Fatal(err)
		}
		if err := kept.Put("quay.io/example/y:1", first); err != nil {
			t.Fatal(err)
		}
		reopened, err := oci.OpenStore(dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := reopened.Get("quay.io/example/x:1")
		if err != nil || got == nil {
			t.Fatalf("got %v, %v", got, err)
		}
		if digestOf(t, got) != digestOf(t, next) {
			t.Error("another image came back")
		}
	}
}

func TestAnUnknownNameIsNoError(t *testing.T) {
	kept, err := oci.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := kept.Get("nothing"); got != nil || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func randomImage(t *testing.T) v1.Image {
	t.Helper()
	i, err := random.Image(10, 1)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func digestOf(t *testing.T, i v1.Image) v1.Hash {
	t.Helper()
	d, err := i.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}
