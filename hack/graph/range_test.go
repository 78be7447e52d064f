package graph_test

import (
	"testing"

	"github.com/blang/semver/v4"

	"github.com/example/memcached-operator/hack/graph"
)

func TestRangeEnds(t *testing.T) {
	for text, test := range map[string]struct{ lowerEnd, above bool }{
		// Above 0.3.0.
		"":                                {true, false},
		">=0.1.0 <0.3.0":                  {true, false},
		">=0.1.0 <=0.3.0":                 {true, false},
		">=0.1.0 <0.3.0-0":                {true, false},
		">=0.1.0 <0.3.1-0":                {true, false},
		">=0.1.0":                         {true, true},
		">=0.1.0 <0.3.1":                  {true, true}, // 0.3.1-rc.1 is below 0.3.1.
		">0.3.0 <0.4.0-0":                 {true, true},
		">=0.3.1 <0.3.2":                  {true, true},
		">=0.1.0 <0.2.0 || >0.5.0 <0.6.0": {true, true},
		">=0.1.0 <0.2.0 || 0.7.3":         {true, true},
		">0.5.0-alpha <0.5.0-beta":        {true, true},
		"<0.3.0":                          {false, false},
		"<0.0.0-1":                        {false, false},
		">=0.1.0 <0.3.1-1":                {true, true},
		">0.10.0-alpha <0.10.0-beta":      {true, true},
		"!=0.1.0":                         {false, true},
		"0.2.x":                           {true, false},
		"0.3.x":                           {true, true},
		"0.x":                             {true, true},
		">0.2.x <0.3.0":                   {true, false},
		">1.x":                            {true, true},
		">0.4.x":                          {true, true},
		">1.x <3.0.0-0":                   {true, true},
		">0.4.x <0.6.0-0":                 {true, true},
		">=0.1.0 !=0.2.0 <0.3.0":          {true, false},
	} {
		r := graph.ParseRange(text)
		if !r.Valid() {
			t.Errorf("%q is invalid", text)
		}
		if got := r.HasLowerEnd(); got != test.lowerEnd {
			t.Errorf("%q has a lower end: %v", text, got)
		}
		if got := r.HoldsAbove(semver.MustParse("0.3.0")); got != test.above {
			t.Errorf("%q holds versions above 0.3.0: %v", text, got)
		}
	}
	if r := graph.ParseRange("0.1.0 to 0.2.0"); r.Valid() || r.Holds(semver.MustParse("0.1.0")) {
		t.Errorf("an invalid range is parsed as %v", r)
	}
	if r := graph.ParseRange(""); !r.Valid() || r.Holds(semver.MustParse("0.1.0")) {
		t.Errorf("an empty range is parsed as %v", r)
	}
}
