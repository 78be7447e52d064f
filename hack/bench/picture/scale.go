package picture

import (
	"math"

	"github.com/example/memcached-operator/hack/bench/figures"
)

// scale maps values to pixels.
type scale struct {
	low, high float64 // The values at both ends.
	from, to  float64 // The pixels there.
	log       bool
}

// newScale returns a scale that shows all values, between pixels. A logarithmic one begins and ends at powers of ten or at halves and fifths
// of them; a linear one begins at 0.
func newScale(values []float64, log bool, from, to float64) scale {
	s := scale{from: from, to: to, log: log, low: 0, high: 1}
	for i, value := range values {
		if i == 0 {
			s.low, s.high = value, value
		}
		s.low, s.high = min(s.low, value), max(s.high, value)
	}
	if !log {
		step := niceStep(max(s.high, 1e-9))
		s.low, s.high = 0, math.Ceil(max(s.high, 1e-9)/step)*step
		return s
	}
	s.low, s.high = roundLog(max(s.low, 1e-3), math.Floor), roundLog(max(s.high, 1e-3), math.Ceil)
	if s.low == s.high {
		s.high *= 10
	}
	return s
}

// at returns the pixel of a value.
func (s scale) at(value float64) float64 {
	low, high := s.low, s.high
	if s.log {
		low, high, value = math.Log(low), math.Log(high), math.Log(max(value, s.low))
	}
	return s.from + (value-low)/(high-low)*(s.to-s.from)
}

// ticks returns the values that are written at the axis.
func (s scale) ticks() []float64 {
	var all []float64
	if !s.log {
		step := niceStep(s.high)
		for i := 0; float64(i)*step <= s.high*1.0001; i++ {
			all = append(all, float64(i)*step)
		}
		return all
	}
	for decade := math.Pow(10, math.Floor(math.Log10(s.low)*1.0000001)); decade <= s.high*1.0001; decade *= 10 {
		for _, factor := range []float64{1, 2, 5} {
			if value := decade * factor; value >= s.low*0.9999 && value <= s.high*1.0001 {
				all = append(all, value)
			}
		}
	}
	return all
}

// niceStep returns a step of 1, 2 or 5 times a power of ten, of which four to nine reach high.
func niceStep(high float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(high/4)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if high/(decade*factor) <= 6 {
			return decade * factor
		}
	}
	return decade * 10
}

// roundLog rounds a value to 1, 2 or 5 times a power of ten.
func roundLog(value float64, direction func(float64) float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(value)))
	steps := []float64{1, 2, 5, 10}
	best := decade
	for _, step := range steps {
		candidate := decade * step
		if direction(0.5) == 0 && candidate <= value*1.0000001 {
			best = candidate
		}
		if direction(0.5) == 1 && candidate >= value*0.9999999 {
			return candidate
		}
	}
	return best
}

// label returns a value as it is written at an axis.
func label(value float64) string { return figures.Number(value) }
