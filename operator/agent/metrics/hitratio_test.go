package metrics_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/operator/agent/metrics"
)

func at(seconds int, c metrics.Counts) metrics.Counts {
	c.At = time.Unix(1_700_000_000, 0).Add(time.Duration(seconds) * time.Second)
	return c
}

func TestTheRatioIsThatOfTheLastMinute(t *testing.T) {
	for name, test := range map[string]struct {
		counts []metrics.Counts
		want   float64 // Below 0: none.
	}{
		"nothing is known":   {nil, -1},
		"counts of one time": {[]metrics.Counts{at(0, metrics.Counts{Hits: 5, Misses: 5})}, -1},
		"three of four": {[]metrics.Counts{
			at(0, metrics.Counts{Hits: 100, Misses: 900}),
			at(10, metrics.Counts{Hits: 103, Misses: 901}),
		}, .75},
		"no gets": {[]metrics.Counts{
			at(0, metrics.Counts{Hits: 100, Misses: 900}),
			at(10, metrics.Counts{Hits: 100, Misses: 900}),
		}, -1},
		"only misses": {[]metrics.Counts{
			at(0, metrics.Counts{Hits: 100, Misses: 900}),
			at(10, metrics.Counts{Hits: 100, Misses: 901}),
		}, 0},
		"none but the agent's": {[]metrics.Counts{
			at(0, metrics.Counts{Hits: 100, Own: 90}),
			at(10, metrics.Counts{Hits: 101, Own: 91}),
		}, -1},
		"the agent's beside others": {[]metrics.Counts{
			at(0, metrics.Counts{Hits: 100, Own: 90}),
			at(10, metrics.Counts{Hits: 102, Own: 91, Misses: 1}),
		}, .5},
		"a minute and no more": {[]metrics.Counts{
			at(-10, metrics.Counts{}),
			at(0, metrics.Counts{Misses: 1000}),
			at(30, metrics.Counts{Misses: 1000, Hits: 1}),
			at(60, metrics.Counts{Misses: 1001, Hits: 3}),
		}, .75},
		"counts that are far apart": {[]metrics.Counts{
			at(0, metrics.Counts{}),
			at(200, metrics.Counts{Misses: 1000}),
			at(400, metrics.Counts{Misses: 1000, Hits: 1}),
		}, 1},
		"a memcached that was restarted, and counts less": {[]metrics.Counts{
			at(0, metrics.Counts{Process: 7, Hits: 100}),
			at(10, metrics.Counts{Process: 7, Hits: 200}),
			at(20, metrics.Counts{Process: 8, Hits: 10, Misses: 10}),
			at(30, metrics.Counts{Process: 8, Hits: 11, Misses: 13}),
		}, .25},
		"a memcached that was restarted, and counts more": {[]metrics.Counts{
			at(0, metrics.Counts{Process: 7}),
			at(10, metrics.Counts{Process: 8, Hits: 10, Misses: 10}),
		}, -1},
		"statistics that were reset": {[]metrics.Counts{
			at(0, metrics.Counts{Hits: 100, Misses: 100}),
			at(10, metrics.Counts{Hits: 100, Misses: 1}),
		}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			var window metrics.HitRatio
			for _, c := range test.counts {
				window.Add(c)
			}
			want := &test.want
			if test.want < 0 {
				want = nil
			}
			if diff := cmp.Diff(want, window.Ratio()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
