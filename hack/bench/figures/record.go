package figures

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Recorded is a figure that later versions are compared with.
type Recorded struct {
	Workload string `json:"workload"`
	Kind     string `json:"kind"`
	Size     int    `json:"size"`
	Name     string `json:"name"`
	Better   Better `json:"better"`
	// Value is the median when it was recorded.
	Value float64 `json:"value"`
	Limit
}

// Limit is by how much a figure may be worse than its recorded value.
type Limit struct {
	// Part is a part of the value, for example 0.2.
	Part float64 `json:"part,omitempty"`
	// Number is added to it.
	Number float64 `json:"number,omitempty"`
}

// isOf tells whether a result is that of the figure.
func (r Recorded) isOf(result Result) bool {
	return result.Workload == r.Workload && result.Kind == r.Kind && result.Size == r.Size
}

// worst returns the worst value that is no regression.
func (r Recorded) worst() float64 {
	worse := math.Abs(r.Value)*r.Part + r.Number
	if r.Better == Higher {
		return r.Value - worse
	}
	return r.Value + worse
}

// Compare returns an error for every recorded figure that is worse now, or was not measured. A figure counts with its best round: other
// work on the machine makes single rounds worse, and none better.
func Compare(recorded []Recorded, results []Result) error {
	var all []error
	for _, was := range recorded {
		index := slices.IndexFunc(results, was.isOf)
		if index < 0 || results[index].Figure(was.Name) == nil {
			all = append(all, fmt.Errorf("%s, %s, %d: %s was not measured, but is recorded: run `make bench-record`",
				was.Workload, was.Kind, was.Size, was.Name))
			continue
		}
		now := results[index].Figure(was.Name)
		best := now.Best()
		if was.Better == Higher && best >= was.worst() || was.Better == Lower && best <= was.worst() {
			continue
		}
		rounds := ""
		if len(now.Rounds) > 1 {
			rounds = fmt.Sprintf(" in the best of %d rounds", len(now.Rounds))
		}
		all = append(all, fmt.Errorf("%s, %s, %d: %s is %s%s, and was %s: %s is no regression. Mend it, or run `make bench-record` if it has to be so",
			was.Workload, was.Kind, was.Size, was.Name, Number(best), rounds, Number(was.Value), bound(was)))
	}
	return errors.Join(all...)
}

func bound(was Recorded) string {
	if was.Better == Higher {
		return Number(was.worst()) + " or more"
	}
	return Number(was.worst()) + " or less"
}

// Record returns what to record of results: the figures for which limit returns one.
func Record(results []Result, limit func(workload, figure string) (Limit, bool)) []Recorded {
	var all []Recorded
	for _, result := range results {
		for _, figure := range result.Figures {
			if limit, found := limit(result.Workload, figure.Name); found {
				all = append(all, Recorded{
					Workload: result.Workload, Kind: result.Kind, Size: result.Size, Name: figure.Name, Better: figure.Better,
					Value: math.Round(figure.Median()*1000) / 1000, Limit: limit,
				})
			}
		}
	}
	return all
}
