package figures

import (
	"fmt"
	"strings"
)

// Goal is what a figure should be at worst.
type Goal struct {
	// Workload, Kind, Size and Figure name the figure.
	Workload, Kind string
	Size           int
	Figure         string

	// Says what the figure is, for people.
	Says string

	// Bound is the worst value of the median that meets the goal.
	Bound float64
}

// Goals returns a table of goals beside the figures of the report, empty if it has none of them.
func (r Report) Goals(goals []Goal) string {
	var rows strings.Builder
	for _, goal := range goals {
		for _, result := range r {
			figure := result.Figure(goal.Figure)
			if result.Workload != goal.Workload || result.Kind != goal.Kind || result.Size != goal.Size || figure == nil {
				continue
			}
			outcome, word := "met", "at most"
			if figure.Better == Higher {
				word = "at least"
			}
			if !goal.metBy(figure) {
				outcome = "**missed**"
			}
			bound := strings.TrimSpace(Number(goal.Bound) + " " + figure.Unit)
			fmt.Fprintf(&rows, "| %s | %s %s | %s | %s |\n", goal.Says, word, bound, figure, outcome)
		}
	}
	if rows.Len() == 0 {
		return ""
	}
	return "## goals\n\n| figure | goal | measured | |\n| --- | --- | --- | --- |\n" + rows.String()
}

func (g Goal) metBy(figure *Figure) bool {
	if figure.Better == Higher {
		return figure.Median() >= g.Bound
	}
	return figure.Median() <= g.Bound
}
