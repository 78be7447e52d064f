package figures

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Markdown returns a table for each workload: a row for each figure, and a column for each kind and size.
func (r Report) Markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, "Measured at commit %s on %s: %d CPUs, %s, Kubernetes %s. Median of all rounds (lowest to highest).\n",
		r.Commit, r.Date.UTC().Format("2006-01-02"), r.CPUs, r.Go, r.Kubernetes)
	for _, workload := range r.workloads() {
		writeTable(&text, workload, slices.DeleteFunc(slices.Clone(r.Results), func(o Result) bool { return o.Workload != workload }))
	}
	return text.String()
}

// Comparison returns a table of recorded figures beside those of the report.
func (r Report) Comparison(recorded []Recorded) string {
	text := strings.Builder{}
	text.WriteString("| workload | figure | recorded | now |\n| --- | --- | --- | --- |\n")
	for _, was := range recorded {
		index := slices.IndexFunc(r.Results, was.isOf)
		if index >= 0 {
			fmt.Fprintf(&text, "| %s, %s, %d | %s | %s | %s |\n", was.Workload, was.Kind, was.Size, was.Name, Number(was.Value),
				r.Results[index].Figure(was.Name))
		}
	}
	return text.String()
}

// workloads returns the names of all workloads in the order of their first result.
func (r Report) workloads() []string {
	var all []string
	for _, result := range r.Results {
		if !slices.Contains(all, result.Workload) {
			all = append(all, result.Workload)
		}
	}
	return all
}

func writeTable(text *strings.Builder, workload string, results []Result) {
	fmt.Fprintf(text, "\n## %s\n\n| figure |", workload)
	for _, result := range results {
		fmt.Fprintf(text, " %s, %d |", result.Kind, result.Size)
	}
	fmt.Fprintf(text, "\n| --- |%s\n", strings.Repeat(" --- |", len(results)))
	var names []string
	for _, result := range results {
		for _, figure := range result.Figures {
			if !slices.Contains(names, figure.Name) {
				names = append(names, figure.Name)
			}
		}
	}
	for _, name := range names {
		fmt.Fprintf(text, "| %s |", name)
		for _, result := range results {
			fmt.Fprintf(text, " %s |", result.Figure(name))
		}
		text.WriteString("\n")
	}
}

// String returns the median, and the spread if there is one.
func (f *Figure) String() string {
	if f == nil {
		return "-"
	}
	text := Number(f.Median())
	if f.Unit != "" {
		text += " " + f.Unit
	}
	if lowest, highest := Number(slices.Min(f.Rounds)), Number(slices.Max(f.Rounds)); lowest != highest {
		text += fmt.Sprintf(" (%s to %s)", lowest, highest)
	}
	return text
}

// Number returns a number with three digits, or all of its digits before the point.
func Number(value float64) string {
	if value == 0 {
		return "0"
	}
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(value)))))
	text := strconv.FormatFloat(value, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
