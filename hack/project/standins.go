package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// StandIns map official references by digest to the references by digest that stand in for them.
type StandIns map[string]string

var byDigest = regexp.MustCompile(`^[a-z0-9./:_-]+@sha256:[0-9a-f]{64}$`)

// reference finds references to official operand images by digest.
var reference = regexp.MustCompile(regexp.QuoteMeta(OperandRepository) + `@sha256:[0-9a-f]{64}`)

// LoadStandIns reads a map from a JSON file: one object of strings. No file name means no stand-ins.
func LoadStandIns(path string) (StandIns, error) {
	if path == "" {
		return nil, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the operand map (the local cluster writes one when it is up): %w", err)
	}
	var m StandIns
	if err := json.Unmarshal(content, &m); err != nil {
		return nil, fmt.Errorf("%s: an operand map is a JSON object of strings: %w", path, err)
	}
	if err := m.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func (m StandIns) validate() error {
	for from, to := range m {
		for _, ref := range []string{from, to} {
			if !byDigest.MatchString(ref) {
				return fmt.Errorf("%q is not an image reference by digest, such as %s", ref, Operands()[0].Image)
			}
		}
	}
	return nil
}

// Lines describes the map, one line for each stand-in, sorted.
func (m StandIns) Lines() []string {
	var lines []string
	for _, from := range slices.Sorted(maps.Keys(m)) {
		lines = append(lines, from+" -> "+m[from])
	}
	return lines
}

// Replace returns the content with every official reference replaced by its stand-in. With an empty map the content
// comes back as it is; with any other, an official reference that has no stand-in is an error.
func (m StandIns) Replace(content []byte) ([]byte, error) {
	if len(m) == 0 {
		return content, nil
	}
	var missing []string
	replaced := reference.ReplaceAllFunc(content, func(official []byte) []byte {
		standIn, ok := m[string(official)]
		if !ok {
			missing = append(missing, string(official))
			return official
		}
		return []byte(standIn)
	})
	if len(missing) > 0 {
		return nil, fmt.Errorf("no stand-in for %s: add it to the operand map", strings.Join(missing, ", "))
	}
	if err := m.prove(content, replaced); err != nil {
		return nil, err
	}
	return replaced, nil
}

// prove walks both contents side by side: wherever the original holds an official reference the result must hold
// its stand-in, and everything between must be the same bytes.
func (m StandIns) prove(original, replaced []byte) error {
	for _, at := range slices.Backward(reference.FindAllIndex(original, -1)) {
		standIn, tail := []byte(m[string(original[at[0]:at[1]])]), original[at[1]:]
		rest, ok := bytes.CutSuffix(replaced, tail)
		if ok {
			rest, ok = bytes.CutSuffix(rest, standIn)
		}
		if !ok {
			return errors.New("replacing operand references changed something else")
		}
		original, replaced = original[:at[0]], rest
	}
	if !bytes.Equal(original, replaced) {
		return errors.New("replacing operand references changed something else")
	}
	return nil
}
