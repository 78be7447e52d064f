package catalog_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/hack/internal/catalog"
)

var update = flag.Bool("update", false, "write the expected drawing anew")

func TestTheDrawingShowsChannelsHeadsEdgesDeprecationsAndBarriers(t *testing.T) {
	rendered, err := os.ReadFile("testdata/catalog.yaml")
	if err != nil {
		t.Fatal(err)
	}
	page, err := catalog.Page(rendered)
	if err != nil {
		t.Fatal(err)
	}
	got, _, found := strings.Cut(string(page), "## How it is edited")
	if !found {
		t.Fatal("the page does not say how the graph is edited")
	}
	const golden = "testdata/page.md"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestBeforeTheFirstReleaseThereIsNoDrawing(t *testing.T) {
	page, err := catalog.Page(nil)
	if err != nil || strings.Contains(string(page), "```mermaid") || !strings.Contains(string(page), "Nothing is released yet") {
		t.Errorf("%v:\n%s", err, page)
	}
}
