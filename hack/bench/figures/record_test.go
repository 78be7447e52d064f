package figures_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/hack/bench/figures"
)

func result(name string, better figures.Better, rounds ...float64) figures.Result {
	return figures.Result{Workload: "burst", Kind: "deployment", Size: 100, Figures: []figures.Figure{{Name: name, Better: better, Rounds: rounds}}}
}

func recorded(name string, better figures.Better, value float64, limit figures.Limit) []figures.Recorded {
	return []figures.Recorded{{Workload: "burst", Kind: "deployment", Size: 100, Name: name, Better: better, Value: value, Limit: limit}}
}

func TestCompare(t *testing.T) {
	part, number := figures.Limit{Part: 0.2}, figures.Limit{Number: 0.5}
	for name, test := range map[string]struct {
		was    []figures.Recorded
		now    figures.Result
		passes bool
	}{
		"a ratio within its limit":             {recorded("speed", figures.Higher, 0.5, part), result("speed", figures.Higher, 0.41), true},
		"a ratio beyond its limit":             {recorded("speed", figures.Higher, 0.5, part), result("speed", figures.Higher, 0.39), false},
		"one good round is enough":             {recorded("speed", figures.Higher, 0.5, part), result("speed", figures.Higher, 0.1, 0.45, 0.2), true},
		"a ratio that got better":              {recorded("speed", figures.Higher, 0.5, part), result("speed", figures.Higher, 2), true},
		"a cost within its limit":              {recorded("cost", figures.Lower, 10, part), result("cost", figures.Lower, 11.9), true},
		"a cost beyond its limit":              {recorded("cost", figures.Lower, 10, part), result("cost", figures.Lower, 12.1, 13), false},
		"a cost that got lower":                {recorded("cost", figures.Lower, 10, part), result("cost", figures.Lower, 1), true},
		"one more request for a few":           {recorded("calls", figures.Lower, 6, number), result("calls", figures.Lower, 6.4), true},
		"one more request for all":             {recorded("calls", figures.Lower, 6, number), result("calls", figures.Lower, 7), false},
		"nothing is written, as before":        {recorded("calls", figures.Lower, 0, figures.Limit{}), result("calls", figures.Lower, 0), true},
		"a single write where there were none": {recorded("calls", figures.Lower, 0, figures.Limit{}), result("calls", figures.Lower, 0.1), false},
		"a figure that is not measured any more": {
			recorded("gone", figures.Lower, 1, part), result("calls", figures.Lower, 1), false,
		},
	} {
		err := figures.Compare(test.was, []figures.Result{test.now})
		if (err == nil) != test.passes {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCompareNamesEveryRegression(t *testing.T) {
	was := append(recorded("speed", figures.Higher, 0.5, figures.Limit{Part: 0.2}), recorded("calls", figures.Lower, 6, figures.Limit{Number: 0.5})...)
	now := result("speed", figures.Higher, 0.3, 0.35)
	now.Figures = append(now.Figures, figures.Figure{Name: "calls", Better: figures.Lower, Rounds: []float64{7}})
	err := figures.Compare(was, []figures.Result{now})
	want := `burst, deployment, 100: speed is 0.35 in the best of 2 rounds, and was 0.5: 0.4 or more is no regression. Mend it, or run ` +
		"`make bench-record` if it has to be so\n" +
		`burst, deployment, 100: calls is 7, and was 6: 6.5 or less is no regression. Mend it, or run ` +
		"`make bench-record` if it has to be so"
	if err == nil {
		t.Fatal("there are no regressions")
	}
	if difference := cmp.Diff(strings.Split(want, "\n"), strings.Split(err.Error(), "\n")); difference != "" {
		t.Error(difference)
	}
}

func TestWhatIsRecordedIsNoRegression(t *testing.T) {
	results := []figures.Result{result("speed", figures.Higher, 0.41239, 0.5, 0.3)}
	results[0].Figures = append(results[0].Figures, figures.Figure{Name: "beside", Rounds: []float64{1}})
	record := figures.Record(results, func(_, figure string) (figures.Limit, bool) { return figures.Limit{Part: 0.2}, figure == "speed" })
	if difference := cmp.Diff(recorded("speed", figures.Higher, 0.412, figures.Limit{Part: 0.2}), record); difference != "" {
		t.Error(difference)
	}
	if err := figures.Compare(record, results); err != nil {
		t.Error(err)
	}
}
