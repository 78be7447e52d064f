package graph_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/operator-registry/alpha/declcfg"

	"github.com/example/memcached-operator/hack/graph"
)

const rendered = `schema: olm.package
name: p
defaultChannel: fast
---
schema: olm.channel
package: p
name: fast
entries:
- name: p.v0.1.0
- name: p.v0.2.0
  replaces: p.v0.1.0
  skips: [p.v0.0.9]
  skipRange: '>=0.1.0 <0.2.0'
---
schema: olm.bundle
package: p
name: p.v0.1.0
image: i
properties:
- type: olm.package
  value: {packageName: p, version: 0.1.0}
---
schema: olm.bundle
package: p
name: p.v0.2.0
image: i
properties:
- type: olm.package
  value: {packageName: p, version: 0.2.0}
- type: olm.csv.metadata
  value: {annotations: {olm.skipRange: '>=0.1.0 <0.2.0'}}
---
schema: olm.deprecations
package: p
entries:
- reference: {schema: olm.bundle, name: p.v0.1.0}
  message: old
---
schema: memcached-operator.barriers
package: p
entries:
- name: p.v0.1.0
  reason: it rewrites
`

// A catalog that is read has rules that can be checked, and each violation names in one line what to write instead; an upgrade leads to a
// release of the channel.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		rendered, "", "schema: olm.package\nname: p\n", strings.Replace(rendered, "skips: [p.v0.0.9]", "skips: [p.v0.2.0, p.v0.1.0]", 1),
		strings.Replace(rendered, "replaces: p.v0.1.0", "replaces: p.v0.2.0", 1), strings.ReplaceAll(rendered, "0.1.0", "0.2.0"),
		strings.Replace(rendered, "value: {packageName: p, version: 0.1.0}", "value: x", 1), strings.Replace(rendered, "- name: p.v0.1.0\n  reason", "- null\n- reason", 1),
		strings.Replace(rendered, "name: fast\nentries:", "name: fast\nentries:\n- name: p.v0.1.0", 1),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		config, err := declcfg.LoadReader(bytes.NewReader(content))
		if err != nil {
			return
		}
		read, err := graph.Read(*config)
		if err != nil {
			return
		}
		for _, violation := range read.Lint() {
			if violation.Problem == "" || violation.Fix == "" || violation.Rule == "" {
				t.Errorf("the violation says %q", violation)
			}
		}
		for _, channel := range read.Channels {
			for _, release := range read.Releases {
				for _, entry := range channel.Entries {
					if kind := entry.Edge(release); kind == graph.SkipRange && !entry.SkipRange.Valid() {
						t.Errorf("an edge of %q from %q", entry.SkipRange, release.Name)
					}
				}
			}
			if highest := channel.Highest(); slices.ContainsFunc(channel.Entries, func(e *graph.Entry) bool { return e.Version.GT(highest.Version) }) {
				t.Errorf("%s is not the highest of %s", highest.Name, channel.Name)
			}
		}
	})
}

// A range holds a version above another one if, and only if, it says so.
func FuzzRange(f *testing.F) {
	f.Add(">=0.1.0 <0.2.0", "0.1.5", "0.1.0")
	f.Add(">=1.x || <0.0.1-a", "2.0.0", "1.9.9")
	f.Add("!=1.0.0", "18446744073709551615.0.0", "18446744073709551614.0.0")
	f.Add("1.2.x", "1.2.3-rc.1", "1.2.2")
	f.Fuzz(func(t *testing.T, text, version, lower string) {
		holds := graph.ParseRange(text)
		held, errHeld := semver.Parse(version)
		above, errAbove := semver.Parse(lower)
		if errHeld != nil || errAbove != nil || strings.ContainsFunc(text, unicode.IsControl) {
			return
		}
		if holds.Holds(held) && held.GT(above) && !holds.HoldsAbove(above) {
			t.Errorf("%q holds %s, and nothing above %s", text, held, above)
		}
		if holds.Holds(held) && !holds.Valid() {
			t.Errorf("%q is not valid, and holds %s", text, held)
		}
	})
}
