package pending_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/pending"
)

// release is a version of the operator: what it makes of a spec.
type release struct{ images inputs.Images }

var (
	first  = release{inputs.Images{Memcached: map[string]string{"1.6.18": "memcached:1.6.18"}, Default: "1.6.18", Agent: "agent:1"}}
	second = release{inputs.Images{Memcached: map[string]string{"1.6.18": "memcached:1.6.18", "1.6.45": "memcached:1.6.45"}, Default: "1.6.45", Agent: "agent:2"}}
	// third goes back to a version that does not read what the newer one saved.
	third = release{inputs.Images{Memcached: second.images.Memcached, Default: "1.6.18", Agent: "agent:3"}}
)

func (r release) render(spec v1alpha1.MemcachedSpec) (*pending.Template, error) {
	id := owned.Identity{Name: "memcached", Instance: "cache", Component: "cache"}
	return pod.Template(pod.Request{Spec: spec, Identity: id, Host: "cache-nodes.default.svc", Images: r.images})
}

func version(image string) string { return strings.TrimPrefix(image, "memcached:") }

// decide asks a release about a cache that an earlier release made for the spec of before.
func decide(t *testing.T, made release, before v1alpha1.MemcachedSpec, now release, spec v1alpha1.MemcachedSpec) pending.Decision {
	t.Helper()
	template, err := made.render(before)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := pending.Decide(pending.Input{
		Given: &pending.Given{Template: template, Spec: before}, Spec: spec, Render: now.render, Version: version,
		Features: inputs.Features{Resize: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// images are those of memcached and the agent in a template.
func images(template *pending.Template) string {
	var images []string
	for _, container := range template.Spec.Containers {
		images = append(images, *container.Image)
	}
	slices.Sort(images)
	return strings.Join(images, " ")
}

func pendingFields(answer pending.Decision) string {
	if answer.Pending == nil {
		return ""
	}
	var fields []string
	for _, c := range answer.Pending.Changes {
		fields = append(fields, c.Field+" "+string(c.Class))
	}
	return strings.Join(fields, ", ")
}

func deployment() v1alpha1.MemcachedSpec { return v1alpha1.MemcachedSpec{Size: 3} }

func statefulSet() v1alpha1.MemcachedSpec {
	return v1alpha1.MemcachedSpec{Size: 3, Workload: v1alpha1.WorkloadStatefulSet}
}

func warm() v1alpha1.MemcachedSpec {
	spec := statefulSet()
	spec.WarmRestart = true
	return spec
}

func with(spec v1alpha1.MemcachedSpec, changes ...func(*v1alpha1.MemcachedSpec)) v1alpha1.MemcachedSpec {
	for _, change := range changes {
		change(&spec)
	}
	return spec
}

func threads(s *v1alpha1.MemcachedSpec)  { s.Threads = ptr.To[int32](8) }
func size(s *v1alpha1.MemcachedSpec)     { s.Size = 5 }
func labelled(s *v1alpha1.MemcachedSpec) { s.PodLabels = map[string]string{"team": "shop"} }
func automatic(s *v1alpha1.MemcachedSpec) {
	s.Updates = &v1alpha1.MemcachedUpdates{Policy: v1alpha1.UpdateAutomatic}
}
func pinned(version string) func(*v1alpha1.MemcachedSpec) {
	return func(s *v1alpha1.MemcachedSpec) { s.Version = version }
}
func mine(image, version string) func(*v1alpha1.MemcachedSpec) {
	return func(s *v1alpha1.MemcachedSpec) { s.Image, s.Version = image, version }
}
func tolerating(keys ...string) func(*v1alpha1.MemcachedSpec) {
	return func(s *v1alpha1.MemcachedSpec) {
		for _, key := range keys {
			s.Tolerations = append(s.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
		}
	}
}
func larger(s *v1alpha1.MemcachedSpec) {
	s.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")}
}

func TestWhatARunningCacheGets(t *testing.T) {
	for name, test := range map[string]struct {
		made         release
		before       v1alpha1.MemcachedSpec
		now          release
		spec         v1alpha1.MemcachedSpec
		runs         string
		threads      bool
		pendingField string
	}{
		"nothing new": {made: second, before: deployment(), now: second, spec: deployment(), runs: "memcached:1.6.45"},
		"a new operator, a Deployment": {made: first, before: deployment(), now: second, spec: deployment(),
			runs: "memcached:1.6.18", pendingField: "image Cold"},
		"a new size with it": {made: first, before: deployment(), now: second, spec: with(deployment(), size),
			runs: "memcached:1.6.18", pendingField: "image Cold"},
		"a change of the user's that loses the items anyway": {made: first, before: deployment(), now: second, spec: with(deployment(), threads),
			runs: "memcached:1.6.45", threads: true},
		"a label on the pods of a Deployment": {made: first, before: deployment(), now: second, spec: with(deployment(), labelled), runs: "memcached:1.6.45"},
		"automatic updates":                   {made: first, before: deployment(), now: second, spec: with(deployment(), automatic), runs: "memcached:1.6.45"},
		"a StatefulSet without a warm restart takes over the agent": {made: first, before: statefulSet(), now: second, spec: statefulSet(),
			runs: "agent:2 memcached:1.6.18", pendingField: "image Cold"},
		"a label on the pods of a StatefulSet": {made: first, before: statefulSet(), now: second, spec: with(statefulSet(), labelled),
			runs: "agent:2 memcached:1.6.18", pendingField: "image Cold"},
		"more memory for a StatefulSet": {made: first, before: statefulSet(), now: second, spec: with(statefulSet(), larger),
			runs: "agent:2 memcached:1.6.18", pendingField: "image Cold"},
		"other threads of a StatefulSet": {made: first, before: statefulSet(), now: second, spec: with(statefulSet(), threads),
			runs: "agent:2 memcached:1.6.45", threads: true},
		"a warm restart":                      {made: first, before: warm(), now: second, spec: warm(), runs: "agent:2 memcached:1.6.45"},
		"the version that waits is asked for": {made: first, before: deployment(), now: second, spec: with(deployment(), pinned("1.6.45")), runs: "memcached:1.6.45"},
		"the version that waits is asked for in slots": {made: first, before: statefulSet(), now: second, spec: with(statefulSet(), pinned("1.6.45")),
			runs: "agent:2 memcached:1.6.45"},
		"the version that runs is asked for": {made: first, before: deployment(), now: second, spec: with(deployment(), pinned("1.6.18")), runs: "memcached:1.6.18"},
		"a version is chosen, and threads wait for nothing": {made: first, before: deployment(), now: second, spec: with(deployment(), pinned("1.6.18"), threads),
			runs: "memcached:1.6.18", threads: true},
		"a way back that no warm restart goes": {made: second, before: warm(), now: third, spec: warm(),
			runs: "agent:3 memcached:1.6.45", pendingField: "image Cold"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := decide(t, test.made, test.before, test.now, test.spec)
			if got := images(answer.Given.Template); got != test.runs {
				t.Errorf("runs %s, want %s", got, test.runs)
			}
			if got := pendingFields(answer); got != test.pendingField {
				t.Errorf("pending is %q, want %q", got, test.pendingField)
			}
			if got := slices.Contains(answer.Given.Template.Spec.Containers[0].Args, "-t"); got != test.threads {
				t.Errorf("has the user's threads: %v, want %v", got, test.threads)
			}
			again := decideAgain(t, answer, test.now, test.spec)
			if difference := cmp.Diff(answer, again); difference != "" {
				t.Errorf("asked again, the answer differs (-first +second):\n%s", difference)
			}
		})
	}
}

// decideAgain asks about a cache that has what was answered.
func decideAgain(t *testing.T, answer pending.Decision, now release, spec v1alpha1.MemcachedSpec) pending.Decision {
	t.Helper()
	again, err := pending.Decide(pending.Input{
		Given: &answer.Given, Spec: spec, Render: now.render, Version: version, Features: inputs.Features{Resize: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func TestOnlyTheReleasedChangeIsMade(t *testing.T) {
	waits := decide(t, first, deployment(), second, deployment())
	release := func(id string) v1alpha1.MemcachedSpec {
		return with(deployment(), func(s *v1alpha1.MemcachedSpec) { s.Updates = &v1alpha1.MemcachedUpdates{Release: id} })
	}
	for id, runs := range map[string]string{
		waits.Pending.ID: "memcached:1.6.45", "": "memcached:1.6.18", "0123456789": "memcached:1.6.18",
	} {
		if got := images(decide(t, first, deployment(), second, release(id)).Given.Template); got != runs {
			t.Errorf("with %q released, %s runs, want %s", id, got, runs)
		}
	}
	// What comes next waits again, though the release is still in the spec.
	if next := decide(t, second, release(waits.Pending.ID), third, release(waits.Pending.ID)); next.Pending == nil {
		t.Error("an old release let a new change through")
	}
}

func TestANewWorkloadGetsWhatIsWanted(t *testing.T) {
	answer, err := pending.Decide(pending.Input{Spec: deployment(), Render: second.render, Version: version})
	if err != nil || images(answer.Given.Template) != "memcached:1.6.45" || answer.Pending != nil {
		t.Errorf("%+v, %v", answer, err)
	}
}

func TestASpecThatCannotBeIsNotAnswered(t *testing.T) {
	_, err := pending.Decide(pending.Input{Spec: with(deployment(), func(s *v1alpha1.MemcachedSpec) { s.Version = "1.0.0" }), Render: second.render, Version: version})
	if err == nil || !strings.Contains(err.Error(), "1.6.18, 1.6.45") {
		t.Errorf("the error is %v", err)
	}
}

// Byte by byte, templates may differ that are the same to Kubernetes; a Deployment would replace its pods all the same.
func TestAnEqualTemplateIsLeftAsItIs(t *testing.T) {
	template, err := second.render(deployment())
	if err != nil {
		t.Fatal(err)
	}
	template.Spec.Containers[0].WithTerminationMessagePath(corev1.TerminationMessagePathDefault)
	answer, err := pending.Decide(pending.Input{
		Given: &pending.Given{Template: template, Spec: deployment()}, Spec: deployment(), Render: second.render, Version: version,
	})
	if err != nil || answer.Given.Template.Spec.Containers[0].TerminationMessagePath == nil || answer.Pending != nil {
		t.Errorf("%+v, %v", answer, err)
	}
}

// A spec that an earlier version knew and this one does not is the user's to mend; until then nothing can be told apart.
func TestAnEarlierSpecThatCannotBeRenderedAnyMore(t *testing.T) {
	before := with(deployment(), func(s *v1alpha1.MemcachedSpec) { s.Version = "1.6.18" })
	template, err := first.render(before)
	if err != nil {
		t.Fatal(err)
	}
	render := func(spec v1alpha1.MemcachedSpec) (*pending.Template, error) {
		if spec.Version != "" {
			return nil, errors.New("unknown")
		}
		return second.render(spec)
	}
	answer, err := pending.Decide(pending.Input{
		Given: &pending.Given{Template: template, Spec: before}, Spec: deployment(), Render: render, Version: version,
	})
	if err != nil || images(answer.Given.Template) != "memcached:1.6.45" {
		t.Errorf("%+v, %v", answer, err)
	}
}

// So is one with a change of the user's that makes no difference, while something waits.
func TestAnEqualTemplateIsLeftAsItIsWhileAnotherWaits(t *testing.T) {
	before := with(deployment(), tolerating("a", "b"))
	template, err := first.render(before)
	if err != nil {
		t.Fatal(err)
	}
	answer := decide(t, first, before, second, with(deployment(), tolerating("b", "a")))
	if difference := cmp.Diff(template, answer.Given.Template); difference != "" || pendingFields(answer) != "image Cold" {
		t.Errorf("%s waits, and the template changes (-before +after):\n%s", pendingFields(answer), difference)
	}
}

// Which version is in an image of the user's may be told later, and counts from then on.
func TestAVersionThatIsToldLaterCounts(t *testing.T) {
	told := decide(t, second, with(warm(), mine("mine:a", "")), second, with(warm(), mine("mine:a", "1.6.38")))
	answer, err := pending.Decide(pending.Input{
		Given: &told.Given, Spec: with(warm(), mine("mine:b", "1.6.45")), Render: second.render, Version: func(string) string { return "" },
	})
	if err != nil || images(answer.Given.Template) != "agent:2 mine:b" || answer.Pending != nil {
		t.Errorf("%s runs, and waits: %+v, %v", images(answer.Given.Template), answer.Pending, err)
	}
}

// A later operator may know an earlier one's image no more, and still it has to know that the items stay.
func TestAnImageThatIsKnownNoMoreIsUpgradedWarm(t *testing.T) {
	template, err := first.render(warm())
	if err != nil {
		t.Fatal(err)
	}
	answer, err := pending.Decide(pending.Input{
		Given: &pending.Given{Template: template, Spec: warm()}, Spec: warm(), Render: second.render,
		Version: func(image string) string { return map[string]string{"memcached:1.6.45": "1.6.45"}[image] },
	})
	if err != nil || images(answer.Given.Template) != "agent:2 memcached:1.6.45" || answer.Pending != nil {
		t.Errorf("%s runs, and waits: %+v, %v", images(answer.Given.Template), answer.Pending, err)
	}
}
