package catalog_test

import (
	"strings"
	"testing"

	"github.com/example/memcached-operator/hack/internal/catalog"
	"github.com/example/memcached-operator/hack/internal/testkit"
)

func TestPageDrawsChannelsHeadsEdgesDeprecationsAndBarriers(t *testing.T) {
	page := testkit.Must(catalog.Page([]byte(testkit.ReadFile(t, "testdata", "catalog.yaml"))))(t)
	drawing, _, found := strings.Cut(string(page), "## How to edit it")
	if !found {
		t.Fatal("the page does not say how to edit the graph")
	}
	testkit.Golden(t, "testdata/page.md", drawing)
}

func TestPageOfAnEmptyCatalogHasNoDrawing(t *testing.T) {
	page, err := catalog.Page(nil)
	if err != nil || strings.Contains(string(page), "```mermaid") || !strings.Contains(string(page), "Nothing is released yet") {
		t.Errorf("%v:\n%s", err, page)
	}
}
