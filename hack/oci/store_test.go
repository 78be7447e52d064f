package oci_test

import (
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/example/memcached-operator/hack/internal/testkit"
	"github.com/example/memcached-operator/hack/oci"
)

func TestPutReplacesTheImageOfTheName(t *testing.T) {
	dir := t.TempDir()
	first, second := testkit.Must(random.Image(10, 1))(t), testkit.Must(random.Image(10, 1))(t)
	for _, next := range []v1.Image{first, second} {
		kept := testkit.Must(oci.OpenStore(dir))(t)
		if err := kept.Put("quay.io/example/x:1", next); err != nil {
			t.Fatal(err)
		}
		if err := kept.Put("quay.io/example/y:1", first); err != nil {
			t.Fatal(err)
		}
		reopened := testkit.Must(oci.OpenStore(dir))(t)
		got, err := reopened.Get("quay.io/example/x:1")
		if err != nil || got == nil {
			t.Fatalf("got %v, %v", got, err)
		}
		if testkit.Must(got.Digest())(t) != testkit.Must(next.Digest())(t) {
			t.Error("another image came back")
		}
	}
}

func TestGetOfAnUnknownNameIsNoError(t *testing.T) {
	kept := testkit.Must(oci.OpenStore(t.TempDir()))(t)
	if got, err := kept.Get("nothing"); got != nil || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}
