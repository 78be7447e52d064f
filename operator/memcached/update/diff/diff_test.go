package diff_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/memcached-operator/operator/memcached/args"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/diff"
)

const (
	live = diff.Live
	warm = diff.Warm
	cold = diff.Cold
	none = diff.None
)

// state returns a cache with a value in every field.
func state(workload diff.Workload) diff.State {
	return diff.State{
		Workload: workload, Image: "memcached:1.6.38", Version: "1.6.38", Command: []string{"memcached"},
		Arguments: args.Arguments{
			CacheMemory: 64, MaxConnections: 1024, MaxItemSize: 1 << 20, Threads: 4, Port: 11211, MinItemSpace: 48, GrowthFactor: "1.25",
			HashPower: 20, AuthFile: "/users/file", SlabOptions: []string{"slab_reassign"}, TLSOptions: []string{"ssl_key=k"}, Other: []string{"-v"},
		},
		Resources:          diff.Resources{CPURequest: 50, CPULimit: 1000, MemoryRequest: 64 << 20, MemoryLimit: 128 << 20},
		Scheduling:         diff.Scheduling{NodeSelector: map[string]string{"disk": "fast"}, Affinity: "{}", Tolerations: []string{"{}"}, TopologySpread: []string{"{}"}, PriorityClass: "low"},
		CertificatesSecret: "tls",
		UsersSecret:        "users",
		AgentImage:         "agent:1",
		VolumeSize:         65 << 20,
		Labels:             map[string]string{"app": "cache"},
		Annotations:        map[string]string{"team": "shop"},
		Rest:               map[string]string{"spec.restartPolicy": "Always"},
	}
}

func warmState() diff.State {
	s := state(diff.StatefulSet)
	s.Arguments.MemoryFile = "/cache/memory"
	return s
}

// caches are the kinds of cache on which the class of a field depends.
var caches = []struct {
	name     string
	state    func() diff.State
	features inputs.Features
}{
	{"Deployment", func() diff.State { return state(diff.Deployment) }, inputs.Features{Resize: true}},
	{"StatefulSet", func() diff.State { return state(diff.StatefulSet) }, inputs.Features{}},
	{"StatefulSet, resizable", func() diff.State { return state(diff.StatefulSet) }, inputs.Features{Resize: true, Shrink: true}},
	{"StatefulSet, resizable, warm restart", warmState, inputs.Features{Resize: true, Shrink: true}},
}

// classes has the class of each field of State for each of the caches. A field without an entry fails the test.
var classes = map[string][4]diff.Class{
	"Workload":                  {cold, cold, cold, cold},
	"Image":                     {cold, cold, cold, warm},
	"Partial":                   {none, none, none, none},
	"Version":                   {none, live, live, live},
	"Command":                   {cold, cold, cold, diff.NextReplacement},
	"Arguments.CacheMemory":     {cold, live, live, cold},
	"Arguments.MaxConnections":  {cold, cold, cold, cold},
	"Arguments.MaxItemSize":     {cold, cold, cold, cold},
	"Arguments.Threads":         {cold, cold, cold, cold},
	"Arguments.Port":            {cold, cold, cold, cold},
	"Arguments.MinItemSpace":    {cold, cold, cold, cold},
	"Arguments.GrowthFactor":    {cold, cold, cold, cold},
	"Arguments.NoCAS":           {cold, cold, cold, cold},
	"Arguments.MemoryFile":      {cold, cold, cold, cold},
	"Arguments.HashPower":       {cold, cold, cold, diff.NextReplacement},
	"Arguments.TLS":             {cold, cold, cold, cold},
	"Arguments.AuthFile":        {cold, cold, cold, cold},
	"Arguments.SlabOptions":     {cold, cold, cold, cold},
	"Arguments.TLSOptions":      {cold, cold, cold, cold},
	"Arguments.Other":           {cold, cold, cold, cold},
	"Resources.CPURequest":      {cold, cold, live, live},
	"Resources.CPULimit":        {cold, cold, live, live},
	"Resources.MemoryRequest":   {cold, cold, live, live},
	"Resources.MemoryLimit":     {cold, cold, live, live},
	"Scheduling.NodeSelector":   {cold, cold, cold, cold},
	"Scheduling.Affinity":       {cold, cold, cold, cold},
	"Scheduling.Tolerations":    {cold, cold, cold, cold},
	"Scheduling.TopologySpread": {cold, cold, cold, cold},
	"Scheduling.PriorityClass":  {cold, cold, cold, cold},
	"CertificatesSecret":        {cold, cold, cold, cold},
	"UsersSecret":               {cold, cold, cold, cold},
	"AgentImage":                {cold, live, live, live},
	"VolumeSize":                {cold, cold, cold, cold},
	"Labels":                    {cold, live, live, live},
	"Annotations":               {cold, live, live, live},
	"Rest":                      {cold, cold, cold, cold},
}

// leaves returns the paths of all fields below a struct.
func leaves(of reflect.Type, path string) []string {
	var found []string
	for i := range of.NumField() {
		below := strings.TrimPrefix(path+"."+of.Field(i).Name, ".")
		if of.Field(i).Type.Kind() == reflect.Struct {
			found = append(found, leaves(of.Field(i).Type, below)...)
			continue
		}
		found = append(found, below)
	}
	return found
}

// touch gives the field at path another value.
func touch(t *testing.T, s *diff.State, path string) {
	t.Helper()
	field := reflect.ValueOf(s).Elem()
	for name := range strings.SplitSeq(path, ".") {
		field = field.FieldByName(name)
	}
	switch {
	case path == "Workload":
		other := map[diff.Workload]diff.Workload{diff.Deployment: diff.StatefulSet, diff.StatefulSet: diff.Deployment}
		s.Workload = other[s.Workload]
	case path == "Version":
		s.Version = "1.6.45"
	case field.CanInt():
		field.SetInt(field.Int() + 1<<20)
	case field.Kind() == reflect.String:
		field.SetString(field.String() + "-other")
	case field.Kind() == reflect.Bool:
		field.SetBool(!field.Bool())
	case field.Kind() == reflect.Slice:
		field.Set(reflect.Append(field, reflect.ValueOf("other")))
	case field.Kind() == reflect.Map:
		field.SetMapIndex(reflect.ValueOf("other"), reflect.ValueOf("value"))
	default:
		t.Fatalf("the test cannot change %s", path)
	}
}

func TestEveryFieldHasAClass(t *testing.T) {
	paths := leaves(reflect.TypeFor[diff.State](), "")
	for path := range classes {
		if !slices.Contains(paths, path) {
			t.Errorf("there is no field %s", path)
		}
	}
	for _, path := range paths {
		want, known := classes[path]
		if !known {
			t.Errorf("%s has no class: decide on one, and add it to fields and to this test", path)
			continue
		}
		for i, cache := range caches {
			t.Run(path+"/"+cache.name, func(t *testing.T) {
				wanted := cache.state()
				touch(t, &wanted, path)
				changes, overall := diff.Compare(cache.state(), wanted, cache.features)
				if overall != want[i] {
					t.Errorf("the class is %q, want %q: %+v", overall, want[i], changes)
				}
				if want[i] == none {
					return
				}
				if len(changes) != 1 {
					t.Fatalf("got %d changes, want one: %+v", len(changes), changes)
				}
				checkTexts(t, path, changes[0])
			})
		}
	}
}

// checkTexts checks that a user can understand a change.
func checkTexts(t *testing.T, path string, c diff.Change) {
	t.Helper()
	spelled := strings.ToLower(strings.ReplaceAll(path, ".", ""))
	if path != "Rest" && !strings.HasPrefix(path, "Resources.") && spelled != strings.ToLower(strings.ReplaceAll(c.Field, ".", "")) {
		t.Errorf("the field is called %s", c.Field)
	}
	if c.From == c.To {
		t.Errorf("it goes from %q to %q", c.From, c.To)
	}
	if len(c.Reason) < 20 || !strings.HasSuffix(c.Reason, ".") || strings.ToLower(c.Reason[:1]) == c.Reason[:1] && !strings.HasPrefix(c.Reason, "memcached") {
		t.Errorf("the reason is not a sentence: %q", c.Reason)
	}
}

func TestEqualStates(t *testing.T) {
	for _, cache := range caches {
		if changes, class := diff.Compare(cache.state(), cache.state(), cache.features); len(changes) > 0 || class != none {
			t.Errorf("%s: got %q and %+v", cache.name, class, changes)
		}
	}
	empty := diff.State{Labels: map[string]string{}, Command: []string{}}
	if changes, _ := diff.Compare(diff.State{}, empty, inputs.Features{}); len(changes) > 0 {
		t.Errorf("nil and empty differ: %+v", changes)
	}
}

// The result must not depend on the order of a map.
func TestCompareSortsChangesAndReturnsTheWorstClass(t *testing.T) {
	wanted := warmState()
	for path := range classes {
		touch(t, &wanted, path)
	}
	first, class := diff.Compare(warmState(), wanted, inputs.Features{})
	if class != cold || !slices.IsSortedFunc(first, func(a, b diff.Change) int { return strings.Compare(a.Field, b.Field) }) {
		t.Errorf("got %q and %+v", class, first)
	}
	for range 20 {
		again, _ := diff.Compare(warmState(), wanted, inputs.Features{})
		if difference := cmp.Diff(first, again); difference != "" {
			t.Fatalf("the result differs from one call to the next:\n%s", difference)
		}
	}

	wanted = warmState()
	wanted.Labels["more"], wanted.Image = "yes", "memcached:other"
	if _, class := diff.Compare(warmState(), wanted, inputs.Features{}); class != warm {
		t.Errorf("live and warm make %q, want warm", class)
	}
}

// one returns the change of a field.
func one(t *testing.T, given, wanted diff.State, features inputs.Features, field string) diff.Change {
	t.Helper()
	changes, overall := diff.Compare(given, wanted, features)
	for _, c := range changes {
		if c.Class.Worse(overall) {
			t.Errorf("%s is %s, which is worse than the class of all changes (%s)", c.Field, c.Class, overall)
		}
	}
	for _, c := range changes {
		if c.Field == field {
			return c
		}
	}
	t.Fatalf("no change of %s in %+v", field, changes)
	return diff.Change{}
}

func TestRemovingTheAgentIsCold(t *testing.T) {
	given, wanted := state(diff.StatefulSet), state(diff.StatefulSet)
	wanted.AgentImage = ""
	if got := one(t, given, wanted, inputs.Features{}, "agentImage"); got.Class != cold {
		t.Errorf("removing the agent is %s, want cold: a container cannot be removed from a running pod", got.Class)
	}
}

func TestMovingToAnotherWorkloadMakesEveryChangeCold(t *testing.T) {
	given, wanted := state(diff.Deployment), state(diff.StatefulSet)
	wanted.AgentImage, wanted.Labels, wanted.Resources.MemoryLimit = "agent:2", nil, 256<<20
	changes, _ := diff.Compare(given, wanted, inputs.Features{Resize: true})
	for _, c := range changes {
		if c.Class != cold {
			t.Errorf("%s is %s, although each pod is replaced", c.Field, c.Class)
		}
	}
}

// What others have added to a state is no change, and what the operator itself gave is.
func TestAStateThatOthersMayHaveAddedTo(t *testing.T) {
	given, wanted := state(diff.StatefulSet), state(diff.StatefulSet)
	given.Partial, given.Labels["theirs"], given.Scheduling.PriorityClass, wanted.Scheduling.PriorityClass = true, "1", "theirs", ""
	given.Rest["spec.hostNetwork"] = "true"
	wanted.Image = "memcached:other"
	if changes, _ := diff.Compare(given, wanted, inputs.Features{}); len(changes) != 1 || changes[0].Field != "image" {
		t.Errorf("got %+v, want the image only", changes)
	}
}

func TestTextOfChanges(t *testing.T) {
	given, wanted := state(diff.StatefulSet), state(diff.StatefulSet)
	wanted.Resources.MemoryLimit, wanted.Labels, wanted.Rest = 256<<20, nil, map[string]string{"spec.hostNetwork": "true"}
	wanted.Arguments.Threads, wanted.Arguments.MaxConnections = 1, 2048
	changes, _ := diff.Compare(given, wanted, inputs.Features{Resize: true})
	var got []string
	for _, c := range changes {
		got = append(got, fmt.Sprintf("%s: %s -> %s (%s)", c.Field, c.From, c.To, c.Class))
	}
	want := []string{
		"arguments.maxConnections: 1024 -> 2048 (Cold)",
		"arguments.threads: 4 -> 1 (Cold)",
		`labels: app="cache" ->  (Live)`,
		"resources.limits.memory: 128Mi -> 256Mi (Live)",
		"template.spec.hostNetwork:  -> true (Cold)",
		"template.spec.restartPolicy: Always ->  (Cold)",
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("the changes differ (-want +got):\n%s", difference)
	}
}
