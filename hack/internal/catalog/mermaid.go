package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/example/memcached-operator/hack/graph"
)

// arrows are the arrows of each kind of edge, from the installed release to its upgrade.
var arrows = map[graph.Kind]string{graph.Replaces: "-->", graph.Skips: "-.->", graph.SkipRange: "==>"}

// mermaid draws the graph: a box for each channel, with its releases in the order of their versions. The library's writer
// (declcfg.MermaidWriter) does not mark heads and barriers.
func mermaid(g *graph.Graph) string {
	var out strings.Builder
	out.WriteString("flowchart LR\n")
	marked := map[string][]string{}
	for _, c := range g.Channels {
		title := c.Name
		if c.Name == g.DefaultChannel {
			title += " (default)"
		}
		if c.Deprecated != "" {
			title += " (deprecated)"
		}
		fmt.Fprintf(&out, "  subgraph %s[%q]\n", identifier(c, nil), title)
		for _, entry := range sorted(c) {
			node := identifier(c, entry.Release)
			open, closing, marks := look(c, entry)
			for _, mark := range marks {
				marked[mark] = append(marked[mark], node)
			}
			fmt.Fprintf(&out, "    %s%s\"%s\"%s\n", node, open, strings.Join(append([]string{entry.Version.String()}, marks...), "<br/>"), closing)
		}
		out.WriteString("  end\n")
	}
	for _, c := range g.Channels {
		edges(&out, g, c)
	}
	out.WriteString("  classDef head stroke-width:3px\n  classDef barrier stroke-width:3px\n  classDef deprecated stroke-dasharray:5 5\n")
	for _, mark := range []string{"head", "barrier", "deprecated"} {
		if len(marked[mark]) > 0 {
			fmt.Fprintf(&out, "  class %s %s\n", strings.Join(marked[mark], ","), mark)
		}
	}
	return out.String()
}

// edges draws each edge once. An edge from a release that the channel lacks starts in the first channel that has it.
func edges(out *strings.Builder, g *graph.Graph, c *graph.Channel) {
	for _, entry := range sorted(c) {
		for _, from := range g.Releases {
			kind := entry.Edge(from)
			if kind == "" {
				continue
			}
			in := c
			if c.Entry(from.Name) == nil {
				i := slices.IndexFunc(g.Channels, func(other *graph.Channel) bool { return other.Entry(from.Name) != nil })
				if i < 0 {
					continue // No channel has the bundle. The library refuses such a catalog.
				}
				in = g.Channels[i]
			}
			fmt.Fprintf(out, "  %s %s|%s| %s\n", identifier(in, from), arrows[kind], kind, identifier(c, entry.Release))
		}
	}
}

// look returns the shape of an entry and its marks.
func look(c *graph.Channel, entry *graph.Entry) (open, closing string, marks []string) {
	open, closing = "[", "]"
	if slices.Contains(c.Heads(), entry) {
		open, closing, marks = "([", "])", append(marks, "head")
	}
	if entry.Barrier != nil {
		open, closing, marks = "{{", "}}", append(marks, "barrier")
	}
	if entry.Deprecated != "" {
		marks = append(marks, "deprecated")
	}
	return open, closing, marks
}

// sorted returns the entries of a channel, lowest version first.
func sorted(c *graph.Channel) []*graph.Entry {
	entries := slices.Clone(c.Entries)
	slices.SortStableFunc(entries, func(a, b *graph.Entry) int { return a.Version.Compare(b.Version) })
	return entries
}

// identifier returns a name that Mermaid accepts, for a release in a channel or, if release is nil, for the channel.
func identifier(c *graph.Channel, release *graph.Release) string {
	name := "channel_" + c.Name
	if release != nil {
		name = c.Name + "_" + release.Version.String()
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}
