package project

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// StandIns maps official memcached images to the images that a cluster without access to the official registry runs
// instead. Both are references by digest.
type StandIns map[string]string

var (
	byDigest         = regexp.MustCompile(`^[a-z0-9./:_-]+@sha256:[0-9a-f]{64}$`)
	operandReference = regexp.MustCompile(regexp.QuoteMeta(OperandRepository) + `@sha256:[0-9a-f]{64}`)
)

// LoadStandIns reads stand-ins from a JSON file that holds an object of strings. An empty path means no stand-ins.
func LoadStandIns(path string) (StandIns, error) {
	if path == "" {
		return nil, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the operand map (the local cluster writes one when it is up): %w", err)
	}
	var s StandIns
	if err := json.Unmarshal(content, &s); err != nil {
		return nil, fmt.Errorf("%s: an operand map is a JSON object of strings: %w", path, err)
	}
	for official, standIn := range s {
		for _, reference := range []string{official, standIn} {
			if !byDigest.MatchString(reference) {
				return nil, fmt.Errorf("%s: %q is not an image reference by digest, such as %s", path, reference, Operands()[0].Image)
			}
		}
	}
	return s, nil
}

// Replace returns the content with every official memcached image replaced by its stand-in. Without stand-ins it
// returns the content unchanged. With stand-ins, an official image that has none is an error.
func (s StandIns) Replace(content []byte) ([]byte, error) {
	if len(s) == 0 {
		return content, nil
	}
	var missing []string
	replaced := operandReference.ReplaceAllFunc(content, func(official []byte) []byte {
		standIn, ok := s[string(official)]
		if !ok {
			missing = append(missing, string(official))
		}
		return []byte(standIn)
	})
	if len(missing) > 0 {
		return nil, fmt.Errorf("no stand-in for %s: add it to the operand map", strings.Join(missing, ", "))
	}
	return replaced, nil
}

// Lines describes the stand-ins, one line each, sorted.
func (s StandIns) Lines() []string {
	var lines []string
	for _, official := range slices.Sorted(maps.Keys(s)) {
		lines = append(lines, official+" -> "+s[official])
	}
	return lines
}
