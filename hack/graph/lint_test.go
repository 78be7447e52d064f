package graph_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/example/memcached-operator/hack/graph"
)

const image = "quay.io/p@sha256:1111111111111111111111111111111111111111111111111111111111111111"

// fixture reads a catalog of the package p. It adds a bundle for every entry without one.
func fixture(t *testing.T, name string) declcfg.DeclarativeConfig {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := declcfg.LoadReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for _, b := range config.Bundles {
		described[b.Name] = true
	}
	for _, channel := range config.Channels {
		for _, entry := range channel.Entries {
			if !described[entry.Name] {
				config.Bundles = append(config.Bundles, bundle(entry.Name))
				described[entry.Name] = true
			}
		}
	}
	return *config
}

func bundle(name string, properties ...property.Property) declcfg.Bundle {
	version := property.MustBuildPackage("p", strings.TrimPrefix(name, "p.v"))
	return declcfg.Bundle{Schema: declcfg.SchemaBundle, Package: "p", Name: name, Image: image, Properties: append(properties, version)}
}

func violations(t *testing.T, config declcfg.DeclarativeConfig) []graph.Violation {
	t.Helper()
	g, err := graph.Read(config)
	if err != nil {
		t.Fatal(err)
	}
	return g.Lint()
}

func TestLintFindsEachRule(t *testing.T) {
	for name, want := range map[string][]string{
		"good":                        nil,
		"two-heads":                   {"candidate p.v0.2.0 two-heads"},
		"dead-end-overlap":            {"candidate p.v0.2.0 replaces-and-skips", "candidate p.v0.3.0 replaces-and-skips", "candidate p.v0.0.1 v0-dead-end", "candidate p.v0.1.0 v0-dead-end"},
		"dead-end-skipped-bridge":     {"candidate p.v0.2.0 v0-dead-end"},
		"v1-dead-end":                 {"candidate p.v0.1.0 v1-dead-end"},
		"v1-dead-end-without-channel": {" p.v0.2.0 v1-dead-end"},
		"replaces-and-skips":          {"candidate p.v0.2.0 replaces-and-skips"},
		"switch":                      {"fast p.v0.2.0 switch"},
		"backwards":                   {"candidate p.v0.1.0 backwards"},
		"unknown-name":                {"candidate p.v0.2.0 unknown-name"},
		"unknown-barrier":             {" p.v0.2.0 unknown-name"},
		"skiprange-unreadable":        {"candidate p.v0.2.0 skiprange-unreadable"},
		"skiprange-self":              {"candidate p.v0.2.0 skiprange-self"},
		"skiprange-no-upper-end":      {"candidate p.v0.2.0 skiprange-unbounded"},
		"skiprange-no-lower-end":      {"candidate p.v0.2.0 skiprange-unbounded"},
		"skiprange-prunes":            {"candidate p.v0.3.0 skiprange-prunes"},
		"skiprange-annotation":        {"candidate p.v0.5.0 skiprange-annotation", "candidate p.v0.6.0 skiprange-annotation"},
		"deprecated-head":             {"candidate p.v0.2.0 deprecated-without-successor"},
		"deprecated-channel":          {"fast  deprecated-without-successor"},
		"deprecated-default":          {"candidate  deprecated-without-successor"},
		"deprecated-property":         {" p.v0.1.0 deprecated-property"},
		"barrier":                     {"candidate p.v0.3.0 barrier"},
		"name-version":                {" p.v0.1.0 name-version"},
		"everything": {
			"candidate p.v0.1.0 two-heads", "candidate p.v0.2.0 skiprange-unbounded", "candidate p.v0.2.0 skiprange-prunes",
			"fast p.v0.3.0 unknown-name", "fast p.v0.3.0 replaces-and-skips", "fast p.v0.1.0 switch",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range violations(t, fixture(t, name)) {
				got = append(got, fmt.Sprintf("%s %s %s", v.Channel, v.Entry, v.Rule))
				if v.Problem == "" || v.Fix == "" {
					t.Errorf("%s lacks the problem or the fix", v)
				}
				t.Log(v)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// These are the reasons for the lint.
func TestLibraryAcceptsDeadEnds(t *testing.T) {
	for _, name := range []string{
		"dead-end-overlap", "dead-end-skipped-bridge", "v1-dead-end", "v1-dead-end-without-channel", "switch", "barrier", "skiprange-self",
		"skiprange-no-upper-end", "skiprange-no-lower-end", "skiprange-prunes", "skiprange-annotation", "unknown-name", "name-version",
	} {
		if _, err := declcfg.ConvertToModel(fixture(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Applying the fix removes the violation.
func TestFixRemovesTheViolation(t *testing.T) {
	for name, test := range map[string]struct {
		fix   string
		apply func(config *declcfg.DeclarativeConfig)
	}{
		"two-heads": {"add p.v0.2.0 to the skips of p.v0.3.0", func(c *declcfg.DeclarativeConfig) {
			c.Channels[0].Entries[2].Skips = []string{"p.v0.2.0"}
		}},
		"dead-end-skipped-bridge": {"add p.v0.2.0 to the skips of p.v0.4.0", func(c *declcfg.DeclarativeConfig) {
			c.Channels[0].Entries[3].Skips = append(c.Channels[0].Entries[3].Skips, "p.v0.2.0")
		}},
		"v1-dead-end": {"add p.v0.1.0 to the skips of p.v0.3.0", func(c *declcfg.DeclarativeConfig) {
			c.Channels[0].Entries[2].Skips = []string{"p.v0.1.0"}
		}},
		"v1-dead-end-without-channel": {"add p.v0.2.0 to the skips of p.v0.4.0", func(c *declcfg.DeclarativeConfig) {
			c.Channels[0].Entries[2].Skips = []string{"p.v0.1.0", "p.v0.2.0"}
		}},
		"switch": {"add p.v0.2.0 to the skips of p.v0.3.0", func(c *declcfg.DeclarativeConfig) {
			c.Channels[1].Entries[1].Skips = []string{"p.v0.2.0"}
		}},
		"skiprange-prunes": {"add replaces: p.v0.2.0", func(c *declcfg.DeclarativeConfig) {
			c.Channels[0].Entries[2].Replaces, c.Channels[0].Entries[2].Skips = "p.v0.2.0", []string{"p.v0.1.0"}
		}},
		"skiprange-self": {"end it with <0.2.0", func(c *declcfg.DeclarativeConfig) {
			c.Channels[0].Entries[1].SkipRange = ">=0.1.0 <0.2.0"
		}},
		"replaces-and-skips": {"remove p.v0.1.0 from its skips", func(c *declcfg.DeclarativeConfig) {
			c.Channels[0].Entries[1].Skips = nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			config := fixture(t, name)
			if before := violations(t, config); len(before) != 1 || before[0].Fix != test.fix {
				t.Fatalf("got %v, want only the fix %q", before, test.fix)
			}
			test.apply(&config)
			if after := violations(t, config); len(after) > 0 {
				t.Errorf("after the fix: %v", after)
			}
		})
	}
}

func TestViolationNamesChannelEntryRuleAndFix(t *testing.T) {
	got := violations(t, fixture(t, "dead-end-skipped-bridge"))[0].String()
	for _, want := range []string{"channel candidate", "entry p.v0.2.0", "[v0-dead-end]", "p.v0.4.0", "add p.v0.2.0 to the skips"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}

func TestViolationsSayWhereAndWhatHappens(t *testing.T) {
	for name, want := range map[string]string{
		"deprecated-default": "channel candidate: it is deprecated",
		"name-version":       "entry p.v0.1.0: its version is",
		"switch":             "entry p.v0.2.0: only candidate has it",
	} {
		if got := violations(t, fixture(t, name))[0].String(); !strings.Contains(got, want) {
			t.Errorf("%s: %q lacks %q", name, got, want)
		}
	}
	g, _ := channel(t, "{name: p.v0.1.0}, {name: p.v0.2.0, replaces: p.v0.1.0}, {name: p.v0.3.0, replaces: p.v0.2.0}, {name: p.v0.4.0, replaces: p.v0.3.0}")
	g.Release("p.v0.3.0").Deprecated = "m"
	var got []string
	for _, v := range g.Lint() {
		got = append(got, v.Entry+": "+strings.Split(v.Problem, ":")[0])
	}
	want := []string{
		"p.v0.1.0: an upgrade from it ends at p.v0.2.0 and never reaches p.v0.4.0",
		"p.v0.2.0: it stays at p.v0.2.0 and never reaches p.v0.4.0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAFixDespiteABarrierThatIsNoRelease(t *testing.T) {
	config := fixture(t, "two-heads")
	config.Others = fixture(t, "unknown-barrier").Others
	config.Others[0].Blob = bytes.ReplaceAll(config.Others[0].Blob, []byte("p.v0.2.0"), []byte("p.v0.4.0"))
	var got []string
	for _, v := range violations(t, config) {
		got = append(got, v.Fix)
	}
	if diff := cmp.Diff([]string{"name a release of the catalog", "add p.v0.2.0 to the skips of p.v0.3.0"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFixLeadsToTheBarrier(t *testing.T) {
	config := fixture(t, "barrier")
	config.Channels[0].Entries[1].Replaces = "" // The only edge to the barrier.
	config.Channels[0].Entries[2].SkipRange = ""
	for _, v := range violations(t, config) {
		if v.Entry == "p.v0.1.0" && !strings.Contains(v.Fix, "to the skips of p.v0.2.0") {
			t.Errorf("%s: the fix should lead to the barrier", v)
		}
	}
}
