//go:build faults

package faults_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/example/memcached-operator/operator/faults/oracle"
)

// becomes fails the test unless the state comes to be as wanted, but for fields that tell of the way.
func (s *scene) becomes(what string, want func() oracle.State) {
	s.Helper()
	if err := s.within(lag, func(s *scene) error {
		baseline := oracle.NewBaseline(withoutTheWay(want()))
		if differences := baseline.Differences(withoutTheWay(s.history.State(s.namespace)), ofTheWay.MatchString); len(differences) > 0 {
			return errors.New(strings.Join(differences, "\n"))
		}
		return nil
	}); err != nil {
		s.Errorf("%s: %v", what, err)
	}
	for _, found := range append(s.violations(), s.forbidden()...) {
		s.Errorf("%s: %s", what, found)
	}
}

var (
	// ofTheWay are the fields that say how an object came to be as it is.
	ofTheWay = regexp.MustCompile(`^(replicasets|controllerrevisions)/|[gG]eneration$|deployment.kubernetes.io/revision$` +
		`|^statefulsets/.*: status.(current|update)` +
		`|example.com/(applied-hash|rendering|record)$|controller-revision-hash$` + // Hashes of what contains the namespace.
		`|^secrets/(tls|users|expired): |nodePort$` +
		`|annotations.cache.example.com/memcached-version$` + // No reason to start pods of another template.
		`|^pods/.*: status.containerStatuses\[0\].restartCount$|^memcacheds/.*: status.endpoints\[\d+\].items$`) // A warm restart keeps pods.

	// argumentsOfPods are the arguments with which memcached was started in a pod. Its memory changes without a restart.
	argumentsOfPods = regexp.MustCompile(`^(pods/.*: spec\.containers\[0\]\.args\[)(\d+)\]$`)

	templateNumbers = regexp.MustCompile(`template\d+`)

	// withoutTwoFields removes two fields from those that the operator owns: the annotation with the version, which ofTheWay leaves out, and the
	// number of pods. To scale, it writes the subresource scale, and owns the number there.
	withoutTwoFields = strings.NewReplacer(`"f:annotations":{`+ofVersion+`},`, "", ofVersion+",", "", ","+ofVersion, "", `"f:replicas":{},`, "")
)

const ofVersion = `"f:cache.example.com/memcached-version":{}`

// withoutTheWay returns a state in which all templates have the same number, and the operator alone owns fields: Kubernetes and subresources
// leave traces only where somebody has used them.
func withoutTheWay(state oracle.State) oracle.State {
	now := oracle.State{}
	for field, value := range state {
		if strings.HasSuffix(field, ": managers") {
			applied := slices.DeleteFunc(strings.Split(value, "; "), func(entry string) bool { return !strings.HasPrefix(entry, "memcached-operator Apply ") })
			value = withoutTwoFields.Replace(strings.Join(applied, "; "))
		}
		if argumentsOfPods.MatchString(field) && state[argumentBefore(field)] == "-m" {
			value = "LIVE"
		}
		now[templateNumbers.ReplaceAllString(field, "template")] = templateNumbers.ReplaceAllString(value, "template")
	}
	return now
}

// argumentBefore returns the field of the argument before another one.
func argumentBefore(field string) string {
	parts := argumentsOfPods.FindStringSubmatch(field)
	number, _ := strconv.Atoi(parts[2])
	return fmt.Sprintf("%s%d]", parts[1], number-1)
}
