package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/operator-registry/alpha/declcfg"

	"github.com/example/memcached-operator/hack/graph"
)

// catalog has the package p with a bundle for each of the versions 0.1.0 to 0.4.0.
const catalog = `
schema: olm.package
name: p
defaultChannel: c
---
{schema: olm.bundle, package: p, name: p.v0.1.0, image: i, properties: [{type: olm.package, value: {packageName: p, version: 0.1.0}}]}
---
{schema: olm.bundle, package: p, name: p.v0.2.0, image: i, properties: [{type: olm.package, value: {packageName: p, version: 0.2.0}}]}
---
{schema: olm.bundle, package: p, name: p.v0.3.0, image: i, properties: [{type: olm.package, value: {packageName: p, version: 0.3.0}}]}
---
{schema: olm.bundle, package: p, name: p.v0.4.0, image: i, properties: [{type: olm.package, value: {packageName: p, version: 0.4.0}}]}
---
`

func read(t *testing.T, documents string) (*graph.Graph, error) {
	t.Helper()
	config, err := declcfg.LoadReader(strings.NewReader(catalog + documents))
	if err != nil {
		t.Fatal(err)
	}
	return graph.Read(*config)
}

func channel(t *testing.T, entries string) (*graph.Graph, *graph.Channel) {
	t.Helper()
	g, err := read(t, "{schema: olm.channel, package: p, name: c, entries: ["+entries+"]}\n")
	if err != nil {
		t.Fatal(err)
	}
	return g, g.Channels[0]
}

func names(entries []*graph.Entry) []string {
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name)
	}
	return got
}

func TestChainContinuesBehindSkippedEntries(t *testing.T) {
	_, c := channel(t, "{name: p.v0.1.0}, {name: p.v0.2.0, replaces: p.v0.1.0}, {name: p.v0.3.0, replaces: p.v0.2.0, skips: [p.v0.2.0]}")
	chain, err := c.Chain()
	if diff := cmp.Diff([]string{"p.v0.3.0", "p.v0.1.0"}, names(chain)); diff != "" || err != nil {
		t.Errorf("-want +got:\n%s%v", diff, err)
	}
}

func TestV0PrefersTheHeadAndV1TheHighestThatIsNotDeprecated(t *testing.T) {
	g, c := channel(t, "{name: p.v0.1.0}, {name: p.v0.3.0, replaces: p.v0.1.0, skipRange: '>=0.1.0 <0.3.0'}, {name: p.v0.4.0, skips: [p.v0.1.0], replaces: p.v0.2.0}, {name: p.v0.2.0, replaces: p.v0.3.0}")
	v0, err := c.V0()
	if err != nil {
		t.Fatal(err)
	}
	from := g.Release("p.v0.1.0")
	if got := v0(from); got.Name != "p.v0.4.0" {
		t.Errorf("v0 goes to %s", got.Name)
	}
	if got := c.V1()(from); got.Name != "p.v0.4.0" {
		t.Errorf("v1 goes to %s", got.Name)
	}
	g.Release("p.v0.4.0").Deprecated = "m"
	if got := v0(from); got.Name != "p.v0.4.0" {
		t.Errorf("with the head deprecated, v0 goes to %s", got.Name)
	}
	if got := c.V1()(from); got.Name != "p.v0.3.0" {
		t.Errorf("with the head deprecated, v1 goes to %s", got.Name)
	}
	g.Release("p.v0.4.0").Refused = true
	if got := v0(from); got.Name != "p.v0.3.0" {
		t.Errorf("with the head refused, v0 goes to %s", got.Name)
	}
	g.Release("p.v0.3.0").Deprecated = "m"
	if got := c.V1()(from); got != nil {
		t.Errorf("with all that follow deprecated, v1 goes to %s", got.Name)
	}
}

// A release that the channel does not have is left for a deprecated one, but not without a channel: there, OLM v1 knows it.
func TestV1LeavesAReleaseThatItDoesNotKnow(t *testing.T) {
	g, c := channel(t, "{name: p.v0.1.0}, {name: p.v0.3.0, replaces: p.v0.1.0, skips: [p.v0.2.0]}")
	g.Release("p.v0.3.0").Deprecated = "m"
	from := g.Release("p.v0.2.0")
	if got := c.V1()(from); got == nil || got.Name != "p.v0.3.0" {
		t.Errorf("in the channel, v1 goes to %v", got)
	}
	if got := g.V1()(from); got != nil {
		t.Errorf("without a channel, v1 goes to %s", got.Name)
	}
}

func TestAChannelWithoutEntriesIsLeftOut(t *testing.T) {
	g, _ := channel(t, "{name: p.v0.1.0}")
	config := declcfg.DeclarativeConfig{Packages: []declcfg.Package{{Name: g.Package}}, Channels: []declcfg.Channel{{Name: "empty"}}}
	if g, err := graph.Read(config); err != nil || len(g.Channels) > 0 || len(g.Lint()) > 0 {
		t.Errorf("got %+v, %v", g, err)
	}
}

func TestChainNeedsOneHead(t *testing.T) {
	for what, entries := range map[string]string{
		"2 heads (p.v0.1.0, p.v0.2.0)": "{name: p.v0.1.0}, {name: p.v0.2.0}",
		"0 heads ()":                   "{name: p.v0.1.0, replaces: p.v0.2.0}, {name: p.v0.2.0, replaces: p.v0.1.0}",
		"lead back to p.v0.1.0":        "{name: p.v0.1.0, replaces: p.v0.2.0}, {name: p.v0.2.0, replaces: p.v0.1.0}, {name: p.v0.3.0, replaces: p.v0.1.0}",
	} {
		_, c := channel(t, entries)
		if _, err := c.V0(); !errors.Is(err, graph.ErrNoChain) || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, want %q", err, what)
		}
	}
}

func TestReadNamesAllErrors(t *testing.T) {
	_, err := read(t, `
{schema: olm.channel, package: p, name: c, entries: [{name: p.v9.0.0}]}
---
{schema: olm.deprecations, package: p, entries: [{reference: {schema: olm.bundle, name: p.v8.0.0}, message: m}]}
---
{schema: memcached-operator.barriers, package: q, entries: [{name: p.v0.1.0}]}
---
{schema: memcached-operator.barriers, package: p, entries: [{name: p.v0.2.0, because: of a slip}]}
---
{schema: memcached-operator.barrier, package: p}
---
{schema: olm.bundle, package: p, name: p.v0.5.0, image: i, properties: [{type: olm.package, value: {packageName: p, version: five}}]}
`)
	for _, want := range []string{
		`channel c has an entry "p.v9.0.0"`, `olm.deprecations names the bundle "p.v8.0.0"`, `"p.v0.1.0" has no reason`, `for the package "q"`,
		`unknown field "because"`, `the schema "memcached-operator.barrier"`, `version "five"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
