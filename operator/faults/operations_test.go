//go:build faults

package faults_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/operator/faults/oracle"
)

var sequences = flag.Int("sequences", 60, "how many sequences of changes to make with each kind of object")

// settling is how long nothing happens before an object counts as settled, if everything is current as well.
const settling = 400 * time.Millisecond

// lag is how much later than everything is settled a test may know it: each kind has a watch of its own.
const lag = 20 * time.Second

// operations counts the changes that users made.
var operations atomic.Int64

// Each field of each spec gets each value, and the value from before; then specs change at random. Afterwards, all is as if the object had
// been created like that.
func TestOperations(t *testing.T) {
	f := startFeed(t)
	type operation struct {
		id   string
		test func(*testing.T)
	}
	var all []operation
	for _, o := range operands {
		for _, field := range o.fields {
			all = append(all, operation{"O4/" + o.name + "/" + field.path, func(t *testing.T) { o.testField(t, f, field) }})
		}
		for n := range *sequences {
			all = append(all, operation{fmt.Sprintf("O5/%s/%d", o.name, n), func(t *testing.T) { o.testSequence(t, f, uint64(n)) }})
		}
	}
	all = selected(all, func(o operation) string { return o.id })
	if len(all) == 0 {
		t.Fatalf("no plan has %q in its name: names are like O4/deployment/threads and O5/statefulset/7", *only)
	}
	start := time.Now()
	t.Cleanup(func() {
		_, _ = fmt.Fprintf(os.Stderr, "%d operations in %d plans, %s\n", operations.Load(), len(all), time.Since(start).Round(time.Second))
	})
	for _, o := range all {
		t.Run(o.id, func(t *testing.T) {
			t.Parallel()
			defer noteFailure(t)
			if hasFailed.Load() {
				return
			}
			defer func() {
				if t.Failed() {
					t.Logf("to run it alone: make operations PLAN='%s'", o.id)
				}
			}()
			o.test(t)
		})
	}
}

// end is when a change counts as done: it makes a check for a new spec.
type end func(s *scene, spec map[string]any) func(*scene) error

// begin returns a scene in which the object was created with changes.
func (o *operand) begin(t *testing.T, f *feed, until end, changes ...string) *scene {
	t.Helper()
	s := newScene(t, f, &workload{name: o.name})
	if err := o.beside(s); err != nil {
		t.Fatal(err)
	}
	s.start()
	spec, err := o.with(s, changes...)
	if err == nil {
		err = o.change(s, spec)
	}
	if err == nil {
		err = s.await(until(s, spec))
	}
	if err != nil {
		t.Fatalf("create %v: %v", spec, err)
	}
	return s
}

// change gives the object a spec.
func (o *operand) change(s *scene, spec map[string]any) error {
	operations.Add(1)
	s.history.Allow(o.pods(spec))
	return o.set(s, spec)
}

// settled is the end of a change: everything is as the spec says, and nothing happens any more.
func (o *operand) settled(s *scene, spec map[string]any) func(*scene) error {
	quiet := s.quiet(settling)
	return func(s *scene) error {
		if err := errors.Join(quiet(s), current(s)); err != nil {
			return err
		}
		if degraded := o.message(s, "Degraded", "True"); degraded != "" || o.message(s, "Progressing", "False") == "" {
			return fmt.Errorf("the operator is not done with the newest spec, and says %q", degraded)
		}
		return o.showsReady(s, o.pods(spec))
	}
}

// says is the end of a change to which the operator has something to say.
func (o *operand) says(what string) end {
	return func(s *scene, _ map[string]any) func(*scene) error {
		quiet := s.quiet(settling)
		return func(s *scene) error {
			err := errors.Join(quiet(s), current(s))
			if degraded := o.message(s, "Degraded", "True"); err == nil && (degraded == "" || !strings.Contains(degraded, what)) {
				err = fmt.Errorf("the operator says %q, want %q", degraded, what)
			}
			return err
		}
	}
}

// showsReady says whether the status shows so many pods, all of them ready.
func (o *operand) showsReady(s *scene, pods int64) error {
	if is, _, _ := unstructured.NestedInt64(s.history.Find(o.resource, o.object).Object, "status", "readyReplicas"); is != pods {
		return fmt.Errorf("%v pods are ready, want %d", is, pods)
	}
	return nil
}

// testField gives a field each of its values, and each time the one from before again.
func (o *operand) testField(t *testing.T, f *feed, field field) {
	s := o.begin(t, f, o.settled)
	before := s.history.State(s.namespace)
	base, err := o.with(s)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range slices.Concat(field.good, field.bad) {
		spec, err := o.with(s, v.spec)
		if err != nil {
			t.Fatal(err)
		}
		until, promised := o.settled, "O4"
		if v.says != "" {
			until, promised = o.says(v.says), "O7"
		}
		shown, pods := o.children(s), containers(s)
		s.history.Forget()
		if err := o.change(s, spec); err != nil {
			if v.says == "" || !strings.Contains(err.Error(), v.says) {
				t.Errorf("%s: %s: the API server says %v, want %q", promised, v.spec, err, v.says)
			}
			continue
		}
		if err := s.await(until(s, spec)); err != nil {
			t.Fatalf("%s: %s: %v\n%s", promised, v.spec, err, s.summary())
		}
		if i < len(field.good) {
			o.isShown(t, s, v, shown)
			o.isAsCreated(t, f, s, until, v.spec)
		} else {
			s.keeps(pods, "O7: "+v.spec)
			s.crash() // The next process finds the bad value.
		}
		s.history.Forget()
		if err := errors.Join(o.change(s, base), s.await(o.settled(s, base))); err != nil {
			t.Fatalf("O6: back from %s: %v\n%s", v.spec, err, s.summary())
		}
		if i >= len(field.good) {
			s.keeps(pods, "O6: back from "+v.spec)
		}
		s.becomes("O6: back from "+v.spec, func() oracle.State { return before })
		if t.Failed() {
			return // Another value would tell the same, and wait for it as well.
		}
	}
}

// isShown fails the test unless an object that the operator owns comes to show the value, and did not before.
func (o *operand) isShown(t *testing.T, s *scene, v value, before string) {
	t.Helper()
	if v.shows == "" {
		return
	}
	if err := s.within(lag, func(s *scene) error {
		if now := o.children(s); !regexp.MustCompile(v.shows).MatchString(now) {
			return errors.New(now)
		}
		return nil
	}); err != nil {
		t.Errorf("O4: %s: nothing shows %s: %v", v.spec, v.shows, err)
	}
	if regexp.MustCompile(v.shows).MatchString(before) {
		t.Errorf("O4: %s: %s was shown before:\n%s", v.spec, v.shows, before)
	}
}

// isAsCreated fails the test unless everything is as if the object had been created with its spec.
func (o *operand) isAsCreated(t *testing.T, f *feed, s *scene, until end, changes ...string) {
	t.Helper()
	fresh := o.begin(t, f, until, changes...)
	defer fresh.end()
	s.becomes(fmt.Sprintf("O5: %v", changes), func() oracle.State { return fresh.history.State(fresh.namespace) })
}

// children returns the YAML of all objects that are there beside the operand.
func (o *operand) children(s *scene) string {
	var all []string
	for _, resource := range observed {
		for _, object := range s.history.All(resource.Resource) {
			if resource.Resource == o.resource || resource.Resource == "controllerrevisions" || resource.Resource == "replicasets" || resource.Resource == "pods" {
				continue
			}
			object = object.DeepCopy()
			object.SetManagedFields(nil)
			text, err := yaml.Marshal(object.Object)
			if err != nil {
				s.Fatal(err)
			}
			all = append(all, string(text))
		}
	}
	return strings.Join(all, "\n|\n")
}

// keeps fails the test unless the containers are those from before.
func (s *scene) keeps(before []string, what string) {
	s.Helper()
	if now := containers(s); !slices.Equal(now, before) {
		s.Errorf("%s: the containers that run are %v, and were %v", what, now, before)
	}
}

// containers returns all containers that run, with how often they were restarted.
func containers(s *scene) (all []string) {
	for _, pod := range s.history.All("pods") {
		status, _ := pod.Object["status"].(map[string]any)
		each, _ := status["containerStatuses"].([]any)
		for _, c := range each {
			c := c.(map[string]any)
			all = append(all, fmt.Sprint(pod.GetUID(), c["name"], c["containerID"], c["restartCount"]))
		}
	}
	slices.Sort(all)
	return all
}
