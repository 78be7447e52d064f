package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Mutants is the directory with known bugs, each a patch of our own code.
const Mutants = "testdata/mutants"

// Mutant is a known bug.
type Mutant struct {
	Name string

	// Says is what the bug does.
	Says string

	// Plans is a part of the names of the plans that should find it, empty for any.
	Plans string

	// files are the patched files, relative to the root of the checkout.
	files []string
	patch string
}

// ReadMutants reads all known bugs of a directory.
func ReadMutants(directory string) ([]Mutant, error) {
	patches, err := filepath.Glob(filepath.Join(directory, "*.patch"))
	if err != nil {
		return nil, err
	}
	var all []Mutant
	for _, patch := range patches {
		content, err := os.ReadFile(patch)
		if err != nil {
			return nil, err
		}
		m := Mutant{Name: strings.TrimSuffix(filepath.Base(patch), ".patch"), patch: patch}
		for i, line := range strings.Split(string(content), "\n") {
			if i == 0 {
				m.Says = line
			}
			if plans, found := strings.CutPrefix(line, "Plans: "); found {
				m.Plans = plans
			}
			if file, found := strings.CutPrefix(line, "+++ b/"); found {
				m.files = append(m.files, file)
			}
		}
		if m.Says == "" || len(m.files) == 0 {
			return nil, fmt.Errorf("%s: the first line has to say what the bug does, and a patch has to follow", patch)
		}
		all = append(all, m)
	}
	return all, nil
}

// Overlay writes the patched files of a checkout into a directory, and the file for -overlay of the go command, whose path it returns.
func (m Mutant) Overlay(root, directory string) (string, error) {
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for _, file := range m.files {
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return "", err
		}
		patched := filepath.Join(directory, file)
		if err := os.MkdirAll(filepath.Dir(patched), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(patched, content, 0o644); err != nil {
			return "", err
		}
		overlay.Replace[filepath.Join(root, file)] = patched
	}
	patch, err := filepath.Abs(m.patch)
	if err != nil {
		return "", err
	}
	apply := exec.Command("git", "apply", patch)
	apply.Dir = directory
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(directory)) // The directory is no part of a checkout.
	if output, err := apply.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s does not apply any more, so bring it up to date: %w\n%s", m.patch, err, output)
	}
	content, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	file := filepath.Join(directory, "overlay.json")
	return file, os.WriteFile(file, content, 0o644)
}
