package diff_test

import (
	"testing"

	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

func TestImage(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		edit     func(given, wanted *diff.State)
		want     diff.Class
		reason   string
	}{
		"measured: 1.6.18 to 1.6.38":              {"1.6.18", "1.6.38", nil, warm, "memcached restarts in the same pod, one pod at a time, and 1.6.38 finds the items of 1.6.18 again."},
		"measured: 1.6.18 to 1.6.45":              {"1.6.18", "1.6.45", nil, warm, ""},
		"measured: 1.6.45 back to 1.6.38":         {"1.6.45", "1.6.38", nil, warm, ""},
		"measured: 1.6.38 back to 1.6.18":         {"1.6.38", "1.6.18", nil, cold, "memcached 1.6.18 does not read the items of the newer 1.6.38: versions before 1.6.38 are too old for that."},
		"the same version, rebuilt":               {"1.6.38", "1.6.38", nil, warm, ""},
		"the same old version, rebuilt":           {"1.6.18", "1.6.18", nil, warm, ""},
		"from a version before the measured ones": {"1.6.17", "1.6.38", nil, cold, "It is unknown whether memcached 1.6.38 reads the items of 1.6.17, so they count as lost."},
		"a downgrade that was not measured":       {"1.6.37", "1.6.36", nil, cold, ""},
		"to another minor version":                {"1.6.45", "1.7.0", nil, cold, ""},
		"to another major version":                {"1.6.45", "2.6.45", nil, cold, ""},
		"the given version is unknown":            {"", "1.6.38", nil, cold, "The version of memcached in one of the images is unknown, so it is unknown whether the new one reads the items of the old one."},
		"the wanted version is unknown":           {"1.6.38", "", nil, cold, ""},
		"a tag that is no version":                {"latest", "1.6.38", nil, cold, ""},
		"without warm restart": {"1.6.18", "1.6.38", func(given, wanted *diff.State) {
			given.Arguments.MemoryFile, wanted.Arguments.MemoryFile = "", ""
		}, cold, "memcached restarts, and without warm restart it starts empty."},
		"warm restart is switched on":  {"1.6.18", "1.6.38", func(given, _ *diff.State) { given.Arguments.MemoryFile = "" }, cold, ""},
		"warm restart is switched off": {"1.6.18", "1.6.38", func(_, wanted *diff.State) { wanted.Arguments.MemoryFile = "" }, cold, ""},
		"in a Deployment": {"1.6.18", "1.6.38", func(given, wanted *diff.State) {
			given.Workload, wanted.Workload = diff.Deployment, diff.Deployment
		}, cold, "memcached restarts in a new pod and starts empty; a StatefulSet with warm restart would keep the items."},
		"with another -m":            {"1.6.18", "1.6.38", func(_, w *diff.State) { w.Arguments.CacheMemory++ }, cold, "memcached restarts, and starts empty because the layout of its memory changes as well."},
		"with another -I":            {"1.6.18", "1.6.38", func(_, w *diff.State) { w.Arguments.MaxItemSize *= 2 }, cold, ""},
		"with another -n":            {"1.6.18", "1.6.38", func(_, w *diff.State) { w.Arguments.MinItemSpace++ }, cold, ""},
		"with another -f":            {"1.6.18", "1.6.38", func(_, w *diff.State) { w.Arguments.GrowthFactor = "1.5" }, cold, ""},
		"with another -C":            {"1.6.18", "1.6.38", func(_, w *diff.State) { w.Arguments.NoCAS = true }, cold, ""},
		"with another slab option":   {"1.6.18", "1.6.38", func(_, w *diff.State) { w.Arguments.SlabOptions = nil }, cold, ""},
		"with one more label":        {"1.6.18", "1.6.38", func(_, w *diff.State) { w.Labels["more"] = "yes" }, warm, ""},
		"with other memory for pods": {"1.6.18", "1.6.38", func(_, w *diff.State) { w.Resources.MemoryLimit *= 2 }, warm, ""},
	} {
		t.Run(name, func(t *testing.T) {
			given, wanted := warmState(), warmState()
			given.Version, wanted.Version, wanted.Image = c.from, c.to, "memcached:other"
			if c.edit != nil {
				c.edit(&given, &wanted)
			}
			got := one(t, given, wanted, inputs.Features{Resize: true}, "image")
			if got.Class != c.want || c.reason != "" && got.Reason != c.reason {
				t.Errorf("got %s: %s\nwant %s: %s", got.Class, got.Reason, c.want, c.reason)
			}
		})
	}
}
