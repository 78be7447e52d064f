package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTicks(t *testing.T) {
	for name, test := range map[string]struct {
		values []float64
		log    bool
		want   []float64
	}{
		"from 0 on":                 {[]float64{12, 38}, false, []float64{0, 10, 20, 30, 40}},
		"less than 1":               {[]float64{0.2}, false, []float64{0, 0.05, 0.1, 0.15, 0.2}},
		"decades":                   {[]float64{0.5, 30}, true, []float64{0.5, 1, 2, 5, 10, 20, 50}},
		"one value":                 {[]float64{100}, true, []float64{100, 200, 500, 1000}},
		"nothing":                   {nil, false, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		"sizes of powers of ten":    {[]float64{100, 1000, 5000}, true, []float64{100, 200, 500, 1000, 2000, 5000}},
		"a value of 0, which log 0": {[]float64{0, 0.002}, true, []float64{0.001, 0.002}},
	} {
		got := newScale(test.values, test.log, 0, 100).ticks()
		near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
		if difference := cmp.Diff(test.want, got, near); difference != "" {
			t.Errorf("%s: %s", name, difference)
		}
	}
}

func TestScaleMapsItsEndsToPixels(t *testing.T) {
	for _, log := range []bool{false, true} {
		s := newScale([]float64{1, 100}, log, 300, 20)
		if s.at(s.low) != 300 || s.at(s.high) != 20 {
			t.Errorf("log %t: the ends are at %v and %v", log, s.at(s.low), s.at(s.high))
		}
	}
}

func TestPicturesAreXMLWithAllNames(t *testing.T) {
	content := SVG("a < b", "below", []Chart{{Title: "caches & more", X: "x", Y: "y", LogX: true, Lines: []Line{
		{Name: "operator", Points: []Point{{1, 2, 1, 3}, {10, 4, 4, 4}}}, {Name: "bare client", Reference: true, Points: []Point{{1, 1, 1, 1}}},
	}}})
	decoder := xml.NewDecoder(bytes.NewReader(content))
	var texts []string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, content)
		}
		if data, ok := token.(xml.CharData); ok && strings.TrimSpace(string(data)) != "" {
			texts = append(texts, string(data))
		}
	}
	all := strings.Join(texts, "|")
	for _, part := range []string{"a < b", "below", "caches & more", "operator", "bare client", "|10|"} {
		if !strings.Contains(all, part) {
			t.Errorf("the picture lacks %q: %s", part, all)
		}
	}
}
