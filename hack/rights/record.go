package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// recordFile is the record of the rights that tests use, relative to the root of the checkout.
const recordFile = "hack/rights/used-rights.yaml"

const recordHeader = `# Rights of the operator. used: by the audit logs of make test and make e2e, which add what is missing. Remove entries and run both
# to find those that are no longer used. unused: granted all the same, with the reason; written by people.
`

// record is the content of recordFile.
type record struct {
	Used   []string `json:"used"`
	Unused []unused `json:"unused"`
}

// unused are rights that the operator needs all the same, for one reason.
type unused struct {
	Reason string   `json:"reason"`
	Rights []string `json:"rights"`
}

func readRecord(file string) (record, error) {
	var r record
	content, err := os.ReadFile(file)
	if err == nil {
		err = yaml.UnmarshalStrict(content, &r)
	}
	if err != nil {
		return r, fmt.Errorf("read the record of used rights: %w", err)
	}
	return r, nil
}

// add adds rights that were used, and returns those that were not recorded. A right in the cluster covers its use in the operator's
// namespace, and one that is explained may be used now and then.
func (r *record) add(rights []right) []string {
	known := slices.Concat(r.Used, r.explained())
	var added []string
	for _, use := range rights {
		if name := use.String(); !slices.Contains(known, name) && !slices.Contains(known, strings.TrimSuffix(name, ownNamespace)) {
			added = append(added, name)
		}
	}
	r.Used = append(r.Used, added...)
	slices.Sort(r.Used)
	return added
}

func (r *record) write(file string) error {
	content, err := yaml.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte(recordHeader), content...), 0o644)
}

// compare returns what is wrong: rights that are granted, not used and not explained, and entries of the record that are not granted, or
// explain a right that is used.
func (r *record) compare(granted []right) error {
	var all []string
	var findings []error
	explained := r.explained()
	for _, grant := range granted {
		all = append(all, grant.String())
		if !slices.Contains(explained, grant.String()) && !r.uses(grant) {
			findings = append(findings, fmt.Errorf("%s: granted, but no test uses it; take it from the marker, or explain it in %s", grant, recordFile))
		}
	}
	for _, use := range r.Used {
		if !slices.Contains(all, use) && !slices.Contains(all, strings.TrimSuffix(use, ownNamespace)) {
			findings = append(findings, fmt.Errorf("%s: used, but not granted any more; remove it from %s", use, recordFile))
		}
	}
	for _, right := range explained {
		if !slices.Contains(all, right) {
			findings = append(findings, fmt.Errorf("%s: explained, but not granted; remove it from %s", right, recordFile))
		} else if slices.Contains(r.Used, right) {
			findings = append(findings, fmt.Errorf("%s: explained, but used; remove it from unused in %s", right, recordFile))
		}
	}
	slices.SortFunc(findings, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(findings...)
}

// explained returns the unused rights that have a reason.
func (r *record) explained() []string {
	var rights []string
	for _, unused := range r.Unused {
		rights = append(rights, unused.Rights...)
	}
	return rights
}

// uses reports whether a right was used. One in the cluster is also used in the operator's namespace.
func (r *record) uses(grant right) bool {
	return slices.Contains(r.Used, grant.String()) || slices.Contains(r.Used, grant.String()+ownNamespace)
}
