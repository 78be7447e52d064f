package graph_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/example/memcached-operator/hack/graph"
	"github.com/example/memcached-operator/hack/internal/testkit"
	"github.com/example/memcached-operator/hack/seed"
)

// graphs is how many random graphs each property is tested with, each with the next seed.
const graphs = 5000

// node is an entry for the brute force. Release n has the version 0.n.0. A skipRange holds the releases from low up to but
// not including high.
type node struct {
	release, replaces int
	skips             []int
	low, high         int
}

type world struct {
	channels            [][]node
	deprecated, refused map[int]bool
}

// random returns a world of at most 6 releases and two channels, with edges that mostly lead upwards.
func random(seed uint64) world {
	r := rand.New(rand.NewPCG(seed, 0))
	w := world{deprecated: map[int]bool{}, refused: map[int]bool{}}
	releases := 2 + r.IntN(5)
	for n := 1; n <= releases; n++ {
		w.deprecated[n] = r.IntN(5) == 0
		w.refused[n] = r.IntN(12) == 0
	}
	for range 1 + r.IntN(2) {
		var channel []node
		for n := 1; n <= releases; n++ {
			if len(channel) > 0 && r.IntN(5) == 0 {
				continue
			}
			channel = append(channel, randomNode(r, n, releases, channel))
		}
		w.channels = append(w.channels, channel)
	}
	return w
}

func randomNode(r *rand.Rand, n, releases int, before []node) node {
	e := node{release: n}
	if len(before) > 0 && r.IntN(8) > 0 {
		e.replaces = before[len(before)-1].release
	}
	if r.IntN(4) == 0 {
		e.replaces = r.IntN(releases + 1)
	}
	for range r.IntN(3) {
		skipped := 1 + r.IntN(releases)
		if skipped < n || r.IntN(6) == 0 {
			e.skips = append(e.skips, skipped)
		}
	}
	if r.IntN(4) == 0 {
		e.low = 1 + r.IntN(releases)
		e.high = e.low + r.IntN(releases)
	}
	return e
}

func name(release int) string { return fmt.Sprintf("p.v0.%d.0", release) }

// catalog writes the world as a catalog.
func (w world) catalog() declcfg.DeclarativeConfig {
	config := declcfg.DeclarativeConfig{Packages: []declcfg.Package{{Schema: declcfg.SchemaPackage, Name: "p", DefaultChannel: "c0"}}}
	deprecations := declcfg.Deprecation{Schema: declcfg.SchemaDeprecation, Package: "p"}
	seen := map[int]bool{}
	for i, channel := range w.channels {
		c := declcfg.Channel{Schema: declcfg.SchemaChannel, Package: "p", Name: fmt.Sprintf("c%d", i)}
		for _, e := range channel {
			entry := declcfg.ChannelEntry{Name: name(e.release)}
			if e.replaces > 0 {
				entry.Replaces = name(e.replaces)
			}
			for _, skipped := range e.skips {
				entry.Skips = append(entry.Skips, name(skipped))
			}
			if e.high > e.low {
				entry.SkipRange = fmt.Sprintf(">=0.%d.0 <0.%d.0", e.low, e.high)
			}
			c.Entries = append(c.Entries, entry)
			if seen[e.release] {
				continue
			}
			seen[e.release] = true
			var properties []property.Property
			if w.refused[e.release] {
				properties = append(properties, property.Property{Type: "olm.deprecated", Value: []byte(`{}`)})
			}
			config.Bundles = append(config.Bundles, bundle(name(e.release), properties...))
			if w.deprecated[e.release] {
				reference := declcfg.PackageScopedReference{Schema: declcfg.SchemaBundle, Name: name(e.release)}
				deprecations.Entries = append(deprecations.Entries, declcfg.DeprecationEntry{Reference: reference, Message: "m"})
			}
		}
		config.Channels = append(config.Channels, c)
	}
	config.Deprecations = []declcfg.Deprecation{deprecations}
	return config
}

func (e node) from(release int) bool {
	return e.replaces == release || slices.Contains(e.skips, release) || e.low <= release && release < e.high
}

// nextV0 returns the upgrade of every release by OLM v0 (0 for none), and the head. It returns false if the channel cannot
// be resolved. The place of an entry is the number of replaces from the head to it.
func (w world) nextV0(channel []node) (next map[int]int, head int, ok bool) {
	place, named := map[int]int{}, map[int]bool{}
	for _, e := range channel {
		named[e.replaces] = true
		for _, skipped := range e.skips {
			named[skipped] = true
		}
	}
	for _, e := range channel {
		if !named[e.release] {
			if head != 0 {
				return nil, 0, false
			}
			head = e.release
		}
	}
	byRelease := map[int]node{}
	for _, e := range channel {
		byRelease[e.release] = e
	}
	for at, n := head, 0; byRelease[at].release != 0; at, n = byRelease[at].replaces, n+1 {
		if _, again := place[at]; again {
			return nil, 0, false
		}
		place[at] = n
	}
	for _, e := range channel {
		for _, skipped := range e.skips {
			delete(place, skipped)
		}
	}
	next = map[int]int{}
	for release := range w.deprecated {
		for candidate, n := range place {
			if w.refused[candidate] || !byRelease[candidate].from(release) {
				continue
			}
			if best, ok := place[next[release]]; !ok || n < best {
				next[release] = candidate
			}
		}
	}
	return next, head, head != 0
}

// nextV1 returns the upgrade of every release by OLM v1.
func (w world) nextV1(channel []node) map[int]int {
	score := func(release int) int {
		if w.deprecated[release] {
			return release
		}
		return release + 1000
	}
	next := map[int]int{}
	for release := range w.deprecated {
		for _, e := range channel {
			if e.from(release) && score(e.release) > score(next[release]) || next[release] == 0 && e.from(release) {
				next[release] = e.release
			}
		}
		if slices.ContainsFunc(channel, func(e node) bool { return e.release == release }) && score(release) >= score(next[release]) {
			next[release] = 0
		}
	}
	return next
}

// arrives reports whether upgrades from a release reach the goal.
func arrives(next map[int]int, from, goal int) bool {
	for range 2*len(next) + 2 {
		if from == goal {
			return true
		}
		from = next[from]
	}
	return false
}

// verdict returns what the brute force finds: the releases that are stuck, by channel and OLM. A channel in which OLM v0
// resolves nothing is "unresolved".
func (w world) verdict() []string {
	found := []string{}
	for i, channel := range w.channels {
		highest := channel[len(channel)-1].release // They are created in order.
		next, head, resolved := w.nextV0(channel)
		if !resolved {
			found = append(found, fmt.Sprintf("c%d unresolved", i))
		}
		has := map[int]bool{}
		for _, e := range channel {
			has[e.release] = true
			if resolved && !arrives(next, e.release, head) {
				found = append(found, fmt.Sprintf("c%d %s v0-dead-end", i, name(e.release)))
			}
			if !w.deprecated[highest] && !arrives(w.nextV1(channel), e.release, highest) {
				found = append(found, fmt.Sprintf("c%d %s v1-dead-end", i, name(e.release)))
			}
		}
		for _, other := range w.channels[1-i%2 : min(2-i%2, len(w.channels))] {
			for _, e := range other {
				if has[e.release] || e.release > highest {
					continue
				}
				if resolved && !arrives(next, e.release, head) || !w.deprecated[highest] && !arrives(w.nextV1(channel), e.release, highest) {
					found = append(found, fmt.Sprintf("c%d %s switch", i, name(e.release)))
				}
			}
		}
	}
	found = append(found, w.withoutChannel(found)...)
	slices.Sort(found)
	return found
}

// withoutChannel returns the releases that are stuck under OLM v1 if no channel is named, and were not found in a channel.
func (w world) withoutChannel(known []string) []string {
	found := []string{}
	entries := slices.Concat(w.channels...)
	highest := slices.MaxFunc(entries, func(a, b node) int { return a.release - b.release }).release
	next := w.nextV1(entries)
	for release := 1; release < highest; release++ {
		served := slices.ContainsFunc(entries, func(e node) bool { return e.release == release })
		reported := slices.ContainsFunc(known, func(s string) bool {
			return strings.HasSuffix(s, name(release)+" v1-dead-end") || strings.HasSuffix(s, name(release)+" switch")
		})
		if served && !reported && !w.deprecated[highest] && !arrives(next, release, highest) {
			found = append(found, fmt.Sprintf(" %s v1-dead-end", name(release)))
		}
	}
	return found
}

// linted returns what the lint says about the same.
func linted(found []graph.Violation) []string {
	got := []string{}
	unresolved := map[string]bool{}
	for _, v := range found {
		switch v.Rule {
		case graph.RuleV0DeadEnd, graph.RuleV1DeadEnd, graph.RuleSwitch:
			got = append(got, fmt.Sprintf("%s %s %s", v.Channel, v.Entry, v.Rule))
		case graph.RuleTwoHeads, graph.RuleBackwards:
			unresolved[v.Channel] = true
		}
	}
	for channel := range unresolved {
		got = append(got, channel+" unresolved")
	}
	slices.Sort(got)
	return got
}

func TestLintAgreesWithBruteForceOnRandomGraphs(t *testing.T) {
	stuck, fine := 0, 0
	first := seed.New(t)
	for n := range uint64(graphs) {
		w := random(first + n)
		want := w.verdict()
		got := linted(violations(t, w.catalog()))
		// OLM v0 may resolve a channel although an edge leads backwards.
		got = slices.DeleteFunc(got, func(s string) bool { return strings.HasSuffix(s, "unresolved") && !slices.Contains(want, s) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-brute force +lint, with SEED=%d:\n%s\n%+v", first+n, diff, w)
		}
		if len(want) > 0 {
			stuck++
		} else {
			fine++
		}
	}
	t.Logf("%d graphs with a stuck release, %d without", stuck, fine)
	if stuck < 100 || fine < 100 {
		t.Errorf("the random graphs are too similar: %d with a stuck release, %d without", stuck, fine)
	}
}

// Whoever names no channel gets to the newest release under OLM v1, if the lint finds nothing wrong.
func TestUpgradesWithoutAChannelReachTheHighestRelease(t *testing.T) {
	walks, first := 0, seed.New(t)
	for n := range uint64(graphs) {
		catalog := random(first + n).catalog()
		if len(violations(t, catalog)) > 0 {
			continue
		}
		g := testkit.Must(graph.Read(catalog))(t)
		var goal *graph.Release
		for _, release := range g.Releases {
			if release.Deprecated == "" {
				goal = release
			}
		}
		for _, release := range g.Releases {
			if release.Version.GT(goal.Version) {
				continue
			}
			if end := graph.Walk(release, goal, g.V1()); end != goal.Name {
				t.Fatalf("from %s upgrades end at %s, want %s, with SEED=%d", release.Name, end, goal.Name, first+n)
			}
			walks++
		}
	}
	if walks < 300 {
		t.Errorf("only %d walks in graphs without a violation", walks)
	}
}
