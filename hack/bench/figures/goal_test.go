package figures_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/hack/bench/figures"
)

func TestGoalsAreBesideWhatWasMeasured(t *testing.T) {
	goal := func(figure string, size int, bound float64) figures.Goal {
		return figures.Goal{Workload: "burst", Kind: "deployment", Size: size, Figure: figure, Says: figure + " of a cache", Bound: bound}
	}
	report := figures.Report{{Workload: "burst", Kind: "deployment", Size: 100, Figures: []figures.Figure{
		{Name: "cost", Unit: "ms", Better: figures.Lower, Rounds: []float64{3, 1, 2}},
		{Name: "calls", Better: figures.Lower, Rounds: []float64{5}},
		{Name: "speed", Better: figures.Higher, Rounds: []float64{0.7}},
		{Name: "ratio", Better: figures.Higher, Rounds: []float64{0.5}},
	}}}
	want := `## goals

| figure | goal | measured | |
| --- | --- | --- | --- |
| cost of a cache | at most 1.9 ms | 2 ms (1 to 3) | **missed** |
| calls of a cache | at most 5 | 5 | met |
| speed of a cache | at least 0.6 | 0.7 | met |
| ratio of a cache | at least 0.6 | 0.5 | **missed** |
`
	got := report.Goals([]figures.Goal{
		goal("cost", 100, 1.9), goal("calls", 100, 5), goal("speed", 100, 0.6), goal("ratio", 100, 0.6), goal("cost", 1000, 1), goal("other", 100, 1),
	})
	if difference := cmp.Diff(want, got); difference != "" {
		t.Error(difference)
	}
	if got := figures.Report(nil).Goals([]figures.Goal{goal("cost", 100, 1)}); got != "" {
		t.Errorf("without figures, the table is %q", got)
	}
}
