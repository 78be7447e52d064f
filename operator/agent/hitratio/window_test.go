package hitratio_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/operator/agent/hitratio"
)

func at(seconds int, c hitratio.Counts) hitratio.Counts {
	c.At = time.Unix(1_700_000_000, 0).Add(time.Duration(seconds) * time.Second)
	return c
}

func TestTheRatioIsThatOfTheLastMinute(t *testing.T) {
	for name, test := range map[string]struct {
		counts []hitratio.Counts
		want   float64 // Below 0: none.
	}{
		"nothing is known": {nil, -1},
		"one look":         {[]hitratio.Counts{at(0, hitratio.Counts{Hits: 5, Misses: 5})}, -1},
		"three of four": {[]hitratio.Counts{
			at(0, hitratio.Counts{Hits: 100, Misses: 900}),
			at(10, hitratio.Counts{Hits: 103, Misses: 901}),
		}, .75},
		"no gets": {[]hitratio.Counts{
			at(0, hitratio.Counts{Hits: 100, Misses: 900}),
			at(10, hitratio.Counts{Hits: 100, Misses: 900}),
		}, -1},
		"only misses": {[]hitratio.Counts{
			at(0, hitratio.Counts{Hits: 100, Misses: 900}),
			at(10, hitratio.Counts{Hits: 100, Misses: 901}),
		}, 0},
		"none but the agent's": {[]hitratio.Counts{
			at(0, hitratio.Counts{Hits: 100, Own: 90}),
			at(10, hitratio.Counts{Hits: 101, Own: 91}),
		}, -1},
		"the agent's beside others": {[]hitratio.Counts{
			at(0, hitratio.Counts{Hits: 100, Own: 90}),
			at(10, hitratio.Counts{Hits: 102, Own: 91, Misses: 1}),
		}, .5},
		"a minute and no more": {[]hitratio.Counts{
			at(-10, hitratio.Counts{}),
			at(0, hitratio.Counts{Misses: 1000}),
			at(30, hitratio.Counts{Misses: 1000, Hits: 1}),
			at(60, hitratio.Counts{Misses: 1001, Hits: 3}),
		}, .75},
		"looks that are far apart": {[]hitratio.Counts{
			at(0, hitratio.Counts{}),
			at(200, hitratio.Counts{Misses: 1000}),
			at(400, hitratio.Counts{Misses: 1000, Hits: 1}),
		}, 1},
		"a memcached that was started anew, and counts less": {[]hitratio.Counts{
			at(0, hitratio.Counts{Process: 7, Hits: 100}),
			at(10, hitratio.Counts{Process: 7, Hits: 200}),
			at(20, hitratio.Counts{Process: 8, Hits: 10, Misses: 10}),
			at(30, hitratio.Counts{Process: 8, Hits: 11, Misses: 13}),
		}, .25},
		"a memcached that was started anew, and counts more": {[]hitratio.Counts{
			at(0, hitratio.Counts{Process: 7}),
			at(10, hitratio.Counts{Process: 8, Hits: 10, Misses: 10}),
		}, -1},
		"statistics that were reset": {[]hitratio.Counts{
			at(0, hitratio.Counts{Hits: 100, Misses: 100}),
			at(10, hitratio.Counts{Hits: 100, Misses: 1}),
		}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			var window hitratio.Window
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
