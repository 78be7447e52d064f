package figures_test

import (
	"testing"

	"github.com/example/memcached-operator/hack/bench/figures"
)

func TestQuantile(t *testing.T) {
	for name, test := range map[string]struct {
		values []float64
		q      float64
		want   float64
	}{
		"the median of an odd number":   {[]float64{9, 1, 5}, 0.5, 5},
		"the median of an even number":  {[]float64{4, 1, 3, 2}, 0.5, 2.5},
		"the median of one":             {[]float64{7}, 0.5, 7},
		"the lowest":                    {[]float64{3, 2}, 0, 2},
		"the highest":                   {[]float64{3, 8, 2}, 1, 8},
		"one between two":               {[]float64{0, 10}, 0.99, 9.9},
		"nothing was measured":          {nil, 0.5, 0},
		"all the same, as counts often": {[]float64{5, 5, 5}, 0.99, 5},
	} {
		if got := figures.Quantile(test.values, test.q); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

func TestTheBestRoundDependsOnTheFigure(t *testing.T) {
	rounds := []float64{3, 1, 2}
	for better, want := range map[figures.Better]float64{figures.Lower: 1, figures.Higher: 3, "": 2} {
		if got := (figures.Figure{Better: better, Rounds: rounds}).Best(); got != want {
			t.Errorf("the best where %q is better: got %v, want %v", better, got, want)
		}
	}
}

func TestQuantileLeavesRoundsInTheirOrder(t *testing.T) {
	rounds := []float64{3, 1, 2}
	figures.Quantile(rounds, 0.5)
	if rounds[0] != 3 || rounds[1] != 1 {
		t.Errorf("rounds are %v", rounds)
	}
}
