package oracle

import (
	"fmt"
	"maps"
	"slices"
)

// Baseline is what runs without faults lead to: the values that a field had in the runs.
type Baseline map[string]map[value]bool

type value struct {
	text  string
	there bool // False if the field was not there.
}

// NewBaseline returns what the states of several runs have in common. A field that differs between them may have any value.
func NewBaseline(states ...State) Baseline {
	b := Baseline{}
	for _, state := range states {
		for field := range state {
			b[field] = map[value]bool{}
		}
	}
	for field, values := range b {
		for _, state := range states {
			text, there := state[field]
			values[value{text, there}] = true
		}
	}
	return b
}

// Masked returns the fields that differ between the runs.
func (b Baseline) Masked() []string {
	var fields []string
	for _, field := range slices.Sorted(maps.Keys(b)) {
		if len(b[field]) > 1 {
			fields = append(fields, field)
		}
	}
	return fields
}

// Differences says what is not as without faults, without those fields for which allowed returns true.
func (b Baseline) Differences(state State, allowed func(field string) bool) []string {
	var all []string
	for _, field := range slices.Sorted(maps.Keys(b)) {
		values := b[field]
		text, there := state[field]
		if len(values) > 1 || values[value{text, there}] || allowed != nil && allowed(field) {
			continue
		}
		for was := range values {
			all = append(all, describe(field, was, value{text, there}))
		}
	}
	for _, field := range slices.Sorted(maps.Keys(state)) {
		if b[field] == nil && (allowed == nil || !allowed(field)) {
			all = append(all, describe(field, value{}, value{state[field], true}))
		}
	}
	return all
}

func describe(field string, was, is value) string {
	say := func(v value) string {
		if !v.there {
			return "nothing"
		}
		return fmt.Sprintf("%q", v.text)
	}
	return fmt.Sprintf("%s is %s, without a fault %s", field, say(is), say(was))
}
