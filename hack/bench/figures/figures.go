// Package figures is what a benchmark says: figures of several rounds with their median and spread, a table of them, and the comparison
// with recorded ones. It is pure: it runs nothing and asks no clock.
package figures

import "slices"

// Better says in which direction a figure gets better.
type Better string

// The values of Better.
const (
	Lower  Better = "lower"
	Higher Better = "higher"
)

// Figure is one measured quantity.
type Figure struct {
	// Name says what it is, for example "CPU per resource".
	Name string `json:"name"`

	// Unit is for example ms; empty for a ratio or a count.
	Unit string `json:"unit,omitempty"`

	// Better is empty for a figure that is neither good nor bad.
	Better Better `json:"better,omitempty"`

	// Rounds are the values of all rounds, at least one.
	Rounds []float64 `json:"rounds"`
}

// Median returns the median of all rounds.
func (f Figure) Median() float64 { return Quantile(f.Rounds, 0.5) }

// Best returns the best round; the median if none is better than another.
func (f Figure) Best() float64 {
	switch f.Better {
	case Lower:
		return slices.Min(f.Rounds)
	case Higher:
		return slices.Max(f.Rounds)
	}
	return f.Median()
}

// Quantile returns the value that the part q of all values, from 0 to 1, does not exceed. Between two values it interpolates. Of no values
// it is 0.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	below := int(at)
	if below == len(sorted)-1 {
		return sorted[below]
	}
	return sorted[below] + (at-float64(below))*(sorted[below+1]-sorted[below])
}

// Origin says where and when figures were measured.
type Origin struct {
	// Commit is the one that was measured, with "+changes" if the checkout differed from it.
	Commit string `json:"commit"`
	// Date is a day, as in 2006-01-02.
	Date string `json:"date"`

	// CPUs is the number of processors, and Go and Kubernetes are versions.
	CPUs       int    `json:"cpus"`
	Go         string `json:"go"`
	Kubernetes string `json:"kubernetes"`
}

// Result are the figures of one workload.
type Result struct {
	// Workload is for example "burst". Kind and Size are those of the custom resources.
	Workload string `json:"workload"`
	Kind     string `json:"kind"`
	Size     int    `json:"size"`

	Origin  Origin   `json:"origin"`
	Figures []Figure `json:"figures"`
}

// Figure returns the figure of a name, nil if there is none.
func (r Result) Figure(name string) *Figure {
	index := slices.IndexFunc(r.Figures, func(f Figure) bool { return f.Name == name })
	if index < 0 {
		return nil
	}
	return &r.Figures[index]
}

// Report is all that was measured.
type Report []Result

// Add adds a result. It takes the place of an earlier one of the same workload, kind and size.
func (r *Report) Add(result Result) {
	index := slices.IndexFunc(*r, func(o Result) bool {
		return o.Workload == result.Workload && o.Kind == result.Kind && o.Size == result.Size
	})
	if index < 0 {
		*r = append(*r, result)
	} else {
		(*r)[index] = result
	}
}

// Origins returns the origins of all results, in their order.
func (r Report) Origins() []Origin {
	var all []Origin
	for _, result := range r {
		if !slices.Contains(all, result.Origin) {
			all = append(all, result.Origin)
		}
	}
	return all
}
