// Package picture shows the upgrade graph of a rendered catalog to people: a page in Markdown with a drawing that code
// hosts render, the same in words, and how the graph is edited.
//
// It is pure: a catalog goes in, a page comes out.
package catalog

import (
	"bytes"
	_ "embed" // The text of the page.
	"fmt"
	"text/template"

	"github.com/operator-framework/operator-registry/alpha/declcfg"

	"github.com/example/memcached-operator/hack/graph"
)

//go:embed page.md.tmpl
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// Page is the page about a rendered catalog. An empty one, before the first release, has no drawing.
func Page(catalog []byte) ([]byte, error) {
	shown := struct {
		*graph.Graph
		Drawing string
		Schema  string
	}{Graph: &graph.Graph{}, Schema: graph.BarrierSchema}
	if len(catalog) > 0 {
		config, err := declcfg.LoadReader(bytes.NewReader(catalog))
		if err != nil {
			return nil, fmt.Errorf("read the catalog to draw it: %w", err)
		}
		if shown.Graph, err = graph.Read(*config); err != nil {
			return nil, err
		}
		shown.Drawing = mermaid(shown.Graph)
	}
	var out bytes.Buffer
	if err := page.Execute(&out, shown); err != nil {
		return nil, fmt.Errorf("write the page about the catalog: %w", err)
	}
	return out.Bytes(), nil
}
