//go:build faults

package faults_test

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var errNotThere = errors.New("it does not exist")

// conditions says whether a condition of an object has a status and, unless it is empty, a reason, for the newest spec.
func condition(resource, name, condition, status, reason string) func(*scene) error {
	return func(s *scene) error {
		object := s.history.Find(resource, name)
		if object == nil {
			return errNotThere
		}
		all, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		var seen []string
		for _, each := range all {
			c := each.(map[string]any)
			if c["type"] == condition && c["status"] == status && (reason == "" || c["reason"] == reason) && c["observedGeneration"] == object.GetGeneration() {
				return nil
			}
			seen = append(seen, fmt.Sprintf("%v=%v (%v, %v)", c["type"], c["status"], c["reason"], c["message"]))
		}
		return fmt.Errorf("the conditions of %s are %s", name, strings.Join(seen, "; "))
	}
}

// ready says whether an object is Ready with that many pods.
func ready(resource, name string, pods int64) func(*scene) error {
	return func(s *scene) error {
		if err := condition(resource, name, "Ready", "True", "")(s); err != nil {
			return err
		}
		if is, _, _ := unstructured.NestedInt64(s.history.Find(resource, name).Object, "status", "readyReplicas"); is != pods {
			return fmt.Errorf("%d pods are ready, want %d", is, pods)
		}
		return nil
	}
}

// nothing says whether no object is left.
func nothing(s *scene) error {
	if left := s.history.Count(); left > 0 {
		return fmt.Errorf("%d objects are left", left)
	}
	return nil
}

// violations returns what may never be, whatever the fault: O7 for other pods, O8 and O11.
func (s *scene) violations() []string {
	var all []string
	s.mutex.Lock()
	for _, both := range s.tookDown {
		all = append(all, "O7: "+both)
	}
	s.mutex.Unlock()
	for _, broken := range s.history.Broken() {
		all = append(all, "O8: "+broken)
	}
	for _, record := range s.injector.Records() {
		if record.Namespace != "" && record.Namespace != s.namespace {
			all = append(all, "O11: "+record.String()+" in the namespace "+record.Namespace)
		}
	}
	return all
}

// forbidden returns what the API server does not allow the operator: O10.
func (s *scene) forbidden() []string {
	var all []string
	for _, record := range s.injector.Records() {
		if record.Code == 403 && !record.Injected {
			all = append(all, "O10: the operator may not "+record.String())
		}
	}
	return all
}
