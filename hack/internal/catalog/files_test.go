package catalog_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/hack/internal/catalog"
)

const oneRelease = `{schema: olm.package, name: p, defaultChannel: c}
---
{schema: olm.channel, package: p, name: c, entries: [{name: p.v0.1.0}]}
---
{schema: olm.bundle, package: p, name: p.v0.1.0, image: i, properties: [{type: olm.package, value: {packageName: p, version: 0.1.0}}]}
`

func TestCheckFindsStaleFiles(t *testing.T) {
	root := t.TempDir()
	written, err := catalog.Write(root, []byte(oneRelease))
	if diff := cmp.Diff([]string{catalog.PageFile, catalog.File}, written); diff != "" || err != nil {
		t.Fatalf("-want +got:\n%s%v", diff, err)
	}
	if err := catalog.Check(root, []byte(oneRelease)); err != nil {
		t.Error(err)
	}
	if again, err := catalog.Write(root, []byte(oneRelease)); len(again) > 0 || err != nil {
		t.Errorf("written again: %v, %v", again, err)
	}
	for _, name := range []string{catalog.File, catalog.PageFile} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := catalog.Check(root, []byte(oneRelease)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is stale, and the check says %v", name, err)
		}
		if again, err := catalog.Write(root, []byte(oneRelease)); err != nil || len(again) != 1 {
			t.Errorf("%s was stale, written is %v, %v", name, again, err)
		}
	}
}

func TestEmptyCatalogHasOnlyThePage(t *testing.T) {
	root := t.TempDir()
	if _, err := catalog.Write(root, []byte(oneRelease)); err != nil {
		t.Fatal(err)
	}
	if _, err := catalog.Write(root, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, catalog.File)); !os.IsNotExist(err) {
		t.Errorf("the catalog is still there: %v", err)
	}
	if err := catalog.Check(root, nil); err != nil {
		t.Error(err)
	}
}
