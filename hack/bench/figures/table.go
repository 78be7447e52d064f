package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Markdown returns a table of goals, and one for each workload: a row for each figure, and a column for each kind and size.
func (r Report) Markdown(goals []Goal) string {
	var text strings.Builder
	origins := r.Origins()
	for _, origin := range origins {
		fmt.Fprintf(&text, "Measured at commit %s on %s: %d CPUs, %s, Kubernetes %s.\n", origin.Commit, origin.Date, origin.CPUs, origin.Go, origin.Kubernetes)
	}
	text.WriteString("Median of all rounds (lowest to highest).\n")
	if table := r.Goals(goals); table != "" {
		text.WriteString("\n" + table)
	}
	for _, workload := range r.workloads() {
		results := slices.DeleteFunc(slices.Clone(r), func(o Result) bool { return o.Workload != workload })
		writeTable(&text, workload, results, len(origins) > 1)
	}
	return text.String()
}

// Comparison returns a table of recorded figures beside those of the report.
func (r Report) Comparison(recorded []Recorded) string {
	text := strings.Builder{}
	text.WriteString("| workload | figure | recorded | now |\n| --- | --- | --- | --- |\n")
	for _, was := range recorded {
		index := slices.IndexFunc(r, was.isOf)
		if index >= 0 {
			fmt.Fprintf(&text, "| %s, %s, %d | %s | %s | %s |\n", was.Workload, was.Kind, was.Size, was.Name, Number(was.Value),
				r[index].Figure(was.Name))
		}
	}
	return text.String()
}

// workloads returns the names of all workloads in the order of their first result.
func (r Report) workloads() []string {
	var all []string
	for _, result := range r {
		if !slices.Contains(all, result.Workload) {
			all = append(all, result.Workload)
		}
	}
	return all
}

// writeTable writes the table of a workload: its kinds as they were measured first, and the sizes of each in order.
func writeTable(text *strings.Builder, workload string, results []Result, withCommits bool) {
	var kinds []string
	for _, result := range results {
		kinds = append(kinds, result.Kind)
	}
	slices.SortStableFunc(results, func(a, b Result) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), cmp.Compare(a.Size, b.Size))
	})
	fmt.Fprintf(text, "\n## %s\n\n| figure |", workload)
	for _, result := range results {
		fmt.Fprintf(text, " %s, %d |", result.Kind, result.Size)
	}
	fmt.Fprintf(text, "\n| --- |%s\n", strings.Repeat(" --- |", len(results)))
	if withCommits {
		text.WriteString("| commit |")
		for _, result := range results {
			fmt.Fprintf(text, " %s |", result.Origin.Commit)
		}
		text.WriteString("\n")
	}
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
