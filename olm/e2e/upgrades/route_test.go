package upgrades_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/operator-registry/alpha/declcfg"

	"github.com/example/memcached-operator/hack/graph"
	"github.com/example/memcached-operator/olm/e2e/upgrades"
)

// channels makes the graph of a catalog with the bundles p.v0.1.0 to p.v0.4.0.
func channels(t *testing.T, documents string) *graph.Graph {
	t.Helper()
	var catalog strings.Builder
	catalog.WriteString("{schema: olm.package, name: p, defaultChannel: candidate}\n")
	for minor := 1; minor <= 4; minor++ {
		fmt.Fprintf(&catalog, "---\n{schema: olm.bundle, package: p, name: p.v0.%d.0, image: i, properties: [{type: olm.package, value: {packageName: p, version: 0.%d.0}}]}\n", minor, minor)
	}
	config, err := declcfg.LoadReader(strings.NewReader(catalog.String() + "---\n" + documents))
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.Read(*config)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

const line = "[{name: p.v0.1.0}, {name: p.v0.2.0, replaces: p.v0.1.0}, {name: p.v0.3.0, replaces: p.v0.2.0}]"

func TestRoutesLeadFromEveryReleaseToEveryHead(t *testing.T) {
	for name, test := range map[string]struct {
		channels string
		from     []string
		routes   []string
	}{
		"channels with the same steps are one route": {
			channels: "{schema: olm.channel, package: p, name: candidate, entries: " + line + "}\n---\n{schema: olm.channel, package: p, name: fast, entries: " + line + "}",
			from:     []string{"p.v0.1.0", "p.v0.2.0"},
			routes:   []string{"from candidate: 0.1.0 > 0.2.0 > 0.3.0 (candidate, fast) replaces replaces", "from candidate: 0.2.0 > 0.3.0 (candidate, fast) replaces"},
		},
		"the head stays where it is": {
			channels: "{schema: olm.channel, package: p, name: candidate, entries: " + line + "}",
			from:     []string{"p.v0.3.0"},
			routes:   []string{"from candidate: 0.3.0 (candidate)"},
		},
		"a channel with an older head has no route from a newer release": {
			channels: "{schema: olm.channel, package: p, name: candidate, entries: " + line + "}\n---\n{schema: olm.channel, package: p, name: fast, entries: [{name: p.v0.2.0, skips: [p.v0.1.0]}]}",
			from:     []string{"p.v0.1.0", "p.v0.3.0"},
			routes:   []string{"from candidate: 0.1.0 > 0.2.0 > 0.3.0 (candidate) replaces replaces", "from candidate: 0.1.0 > 0.2.0 (fast) skips", "from candidate: 0.3.0 (candidate)"},
		},
		"a release that is installed from another channel has a route of its own": {
			channels: "{schema: olm.channel, package: p, name: candidate, entries: [{name: p.v0.1.0}, {name: p.v0.2.0, replaces: p.v0.1.0}]}\n---\n{schema: olm.channel, package: p, name: fast, entries: [{name: p.v0.2.0, replaces: p.v0.1.0}]}",
			from:     []string{"p.v0.1.0"},
			routes:   []string{"from candidate: 0.1.0 > 0.2.0 (candidate) replaces", "from candidate: 0.1.0 > 0.2.0 (fast) replaces"},
		},
		"a range and skips are shortcuts": {
			channels: "{schema: olm.channel, package: p, name: candidate, entries: [{name: p.v0.1.0}, {name: p.v0.2.0, replaces: p.v0.1.0}, {name: p.v0.3.0, replaces: p.v0.2.0}, {name: p.v0.4.0, replaces: p.v0.2.0, skips: [p.v0.3.0], skipRange: '>=0.1.0 <0.3.0'}]}",
			from:     []string{"p.v0.1.0", "p.v0.2.0"},
			routes:   []string{"from candidate: 0.1.0 > 0.4.0 (candidate) skipRange", "from candidate: 0.2.0 > 0.4.0 (candidate) replaces"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			routes, err := upgrades.Routes(channels(t, test.channels), test.from)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range routes {
				line := "from " + r.Install + ": " + r.String()
				for _, edge := range r.Steps {
					line += " " + string(edge.Kind)
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(test.routes, got); diff != "" {
				t.Errorf("routes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoRouteIsAnError(t *testing.T) {
	for name, test := range map[string]struct{ entries, from, says string }{
		"a dead end":         {"[{name: p.v0.1.0}, {name: p.v0.2.0, skips: [p.v0.1.0]}, {name: p.v0.3.0}, {name: p.v0.4.0, replaces: p.v0.2.0, skips: [p.v0.3.0]}]", "p.v0.1.0", "cannot be installed"},
		"two heads":          {"[{name: p.v0.1.0}, {name: p.v0.2.0}]", "p.v0.1.0", "2 heads"},
		"an unknown release": {line, "p.v0.9.0", "no bundle p.v0.9.0"},
		"a release without an edge to the head": {
			"[{name: p.v0.1.0}, {name: p.v0.2.0, replaces: p.v0.1.0}, {name: p.v0.3.0, replaces: p.v0.2.0, skips: [p.v0.2.0]}]", "p.v0.1.0", "does not get from p.v0.1.0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := upgrades.Routes(channels(t, "{schema: olm.channel, package: p, name: candidate, entries: "+test.entries+"}"), []string{test.from})
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want an error with %q", err, test.says)
			}
		})
	}
}

// What is pinned goes along any edge of any channel, once.
func TestPinnedRoutesTakeEveryEdgeOnce(t *testing.T) {
	g := channels(t, "{schema: olm.channel, package: p, name: candidate, entries: [{name: p.v0.1.0}, {name: p.v0.2.0, replaces: p.v0.1.0}, "+
		"{name: p.v0.3.0, skips: [p.v0.1.0]}]}\n---\n{schema: olm.channel, package: p, name: fast, entries: [{name: p.v0.3.0, replaces: p.v0.2.0}, "+
		"{name: p.v0.4.0, replaces: p.v0.3.0, skipRange: '<0.4.0'}]}")
	for every, want := range map[bool][]string{
		false: {"0.1.0 > 0.2.0 > 0.3.0 > 0.4.0 (any)", "0.1.0 > 0.4.0 (any)", "0.2.0 > 0.4.0 (any)"},
		true:  {"0.1.0 > 0.2.0 > 0.3.0 > 0.4.0 (any)", "0.1.0 > 0.3.0 (any)", "0.1.0 > 0.4.0 (any)", "0.2.0 > 0.4.0 (any)"},
	} {
		var got []string
		for _, route := range upgrades.Pinned(g, []string{"p.v0.1.0", "p.v0.2.0", "p.v0.3.0"}, every) {
			got = append(got, route.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("every edge: %t (-want +got):\n%s", every, diff)
		}
	}
}
