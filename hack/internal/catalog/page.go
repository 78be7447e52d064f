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

// Page returns a page in Markdown about the upgrade graph of a rendered catalog: a drawing, the same in words, and how
// people edit the graph. The page of an empty catalog has no drawing.
func Page(catalog []byte) ([]byte, error) {
	content := struct {
		*graph.Graph
		Drawing string
		Schema  string
	}{Graph: &graph.Graph{}, Schema: graph.BarrierSchema}
	if len(catalog) > 0 {
		config, err := declcfg.LoadReader(bytes.NewReader(catalog))
		if err != nil {
			return nil, fmt.Errorf("read the catalog to draw it: %w", err)
		}
		if content.Graph, err = graph.Read(*config); err != nil {
			return nil, err
		}
		content.Drawing = mermaid(content.Graph)
	}
	var out bytes.Buffer
	if err := page.Execute(&out, content); err != nil {
		return nil, fmt.Errorf("write the page about the catalog: %w", err)
	}
	return out.Bytes(), nil
}
