package pending_test

import (
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

// release is a version of the operator, with the images that it knows.
type release struct{ images inputs.Images }

var (
	first  = release{inputs.Images{Memcached: map[string]string{"1.6.18": "memcached:1.6.18"}, Default: "1.6.18", Agent: "agent:1"}}
	second = release{inputs.Images{Memcached: map[string]string{"1.6.18": "memcached:1.6.18", "1.6.45": "memcached:1.6.45"}, Default: "1.6.45", Agent: "agent:2"}}
	// third has an older version of memcached as default, which does not read what the newer one saved.
	third = release{inputs.Images{Memcached: second.images.Memcached, Default: "1.6.18", Agent: "agent:3"}}
)

func (r release) render(spec v1alpha1.MemcachedSpec) (*pending.Template, error) {
	id := owned.Identity{Name: "memcached", Instance: "cache", Component: "cache"}
	return pod.Template(pod.Request{Spec: spec, Identity: id, Host: "cache-nodes.default.svc", Images: r.images})
}

func version(image string) string { return strings.TrimPrefix(image, "memcached:") }

// decide returns the decision of release now for a cache that release created rendered for the spec before.
func decide(t *testing.T, created release, before v1alpha1.MemcachedSpec, now release, spec v1alpha1.MemcachedSpec) pending.Decision {
	t.Helper()
	template, err := created.render(before)
	if err != nil {
		t.Fatal(err)
	}
	decision, err := pending.Decide(pending.Input{
		Given: &pending.Given{Template: template, Spec: before}, Spec: spec, Render: now.render, Version: version,
		Features: inputs.Features{Resize: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return decision
}

// images returns the images of memcached and the agent in a template.
func images(template *pending.Template) string {
	var images []string
	for _, container := range template.Spec.Containers {
		images = append(images, *container.Image)
	}
	slices.Sort(images)
	return strings.Join(images, " ")
}

func pendingFields(decision pending.Decision) string {
	if decision.Pending == nil {
		return ""
	}
	var fields []string
	for _, c := range decision.Pending.Changes {
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
func ownImage(image, version string) func(*v1alpha1.MemcachedSpec) {
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

func TestDecide(t *testing.T) {
	for name, test := range map[string]struct {
		created      release
		before       v1alpha1.MemcachedSpec
		now          release
		spec         v1alpha1.MemcachedSpec
		images       string
		threads      bool
		pendingField string
	}{
		"no change": {created: second, before: deployment(), now: second, spec: deployment(), images: "memcached:1.6.45"},
		"a new operator version, a Deployment": {created: first, before: deployment(), now: second, spec: deployment(),
			images: "memcached:1.6.18", pendingField: "image Cold"},
		"a new operator version and a new size": {created: first, before: deployment(), now: second, spec: with(deployment(), size),
			images: "memcached:1.6.18", pendingField: "image Cold"},
		"a change of the user's that loses the items anyway": {created: first, before: deployment(), now: second, spec: with(deployment(), threads),
			images: "memcached:1.6.45", threads: true},
		"a label on the pods of a Deployment": {created: first, before: deployment(), now: second, spec: with(deployment(), labelled), images: "memcached:1.6.45"},
		"automatic updates":                   {created: first, before: deployment(), now: second, spec: with(deployment(), automatic), images: "memcached:1.6.45"},
		"a StatefulSet without warm restart gets the new agent": {created: first, before: statefulSet(), now: second, spec: statefulSet(),
			images: "agent:2 memcached:1.6.18", pendingField: "image Cold"},
		"a label on the pods of a StatefulSet": {created: first, before: statefulSet(), now: second, spec: with(statefulSet(), labelled),
			images: "agent:2 memcached:1.6.18", pendingField: "image Cold"},
		"more memory for a StatefulSet": {created: first, before: statefulSet(), now: second, spec: with(statefulSet(), larger),
			images: "agent:2 memcached:1.6.18", pendingField: "image Cold"},
		"another number of threads for a StatefulSet": {created: first, before: statefulSet(), now: second, spec: with(statefulSet(), threads),
			images: "agent:2 memcached:1.6.45", threads: true},
		"warm restart":                          {created: first, before: warm(), now: second, spec: warm(), images: "agent:2 memcached:1.6.45"},
		"the user asks for the pending version": {created: first, before: deployment(), now: second, spec: with(deployment(), pinned("1.6.45")), images: "memcached:1.6.45"},
		"the user asks for the pending version, a StatefulSet": {created: first, before: statefulSet(), now: second, spec: with(statefulSet(), pinned("1.6.45")),
			images: "agent:2 memcached:1.6.45"},
		"the user asks for the given version": {created: first, before: deployment(), now: second, spec: with(deployment(), pinned("1.6.18")), images: "memcached:1.6.18"},
		"the user asks for the given version and for threads": {created: first, before: deployment(), now: second, spec: with(deployment(), pinned("1.6.18"), threads),
			images: "memcached:1.6.18", threads: true},
		"a downgrade that no warm restart survives": {created: second, before: warm(), now: third, spec: warm(),
			images: "agent:3 memcached:1.6.45", pendingField: "image Cold"},
	} {
		t.Run(name, func(t *testing.T) {
			decision := decide(t, test.created, test.before, test.now, test.spec)
			if got := images(decision.Given.Template); got != test.images {
				t.Errorf("the images are %s, want %s", got, test.images)
			}
			if got := pendingFields(decision); got != test.pendingField {
				t.Errorf("pending is %q, want %q", got, test.pendingField)
			}
			if got := slices.Contains(decision.Given.Template.Spec.Containers[0].Args, "-t"); got != test.threads {
				t.Errorf("the template has the user's threads: %v, want %v", got, test.threads)
			}
			again := decideAgain(t, decision, test.now, test.spec)
			again.Cause = decision.Cause // It says who wanted the difference, and there is none any more.
			if difference := cmp.Diff(decision, again); difference != "" {
				t.Errorf("the second decision differs (-first +second):\n%s", difference)
			}
		})
	}
}

// decideAgain returns the decision for a cache that was given what the first decision says.
func decideAgain(t *testing.T, decision pending.Decision, now release, spec v1alpha1.MemcachedSpec) pending.Decision {
	t.Helper()
	again, err := pending.Decide(pending.Input{
		Given: &decision.Given, Spec: spec, Render: now.render, Version: version, Features: inputs.Features{Resize: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func TestOnlyTheApprovedChangeIsMade(t *testing.T) {
	before := decide(t, first, deployment(), second, deployment())
	approving := func(id string) v1alpha1.MemcachedSpec {
		return with(deployment(), func(s *v1alpha1.MemcachedSpec) { s.Updates = &v1alpha1.MemcachedUpdates{Release: id} })
	}
	for id, want := range map[string]string{
		before.Pending.ID: "memcached:1.6.45", "": "memcached:1.6.18", "0123456789": "memcached:1.6.18",
	} {
		if got := images(decide(t, first, deployment(), second, approving(id)).Given.Template); got != want {
			t.Errorf("with %q approved, the images are %s, want %s", id, got, want)
		}
	}
	// The next change is pending again, although the earlier approval is still in the spec.
	if next := decide(t, second, approving(before.Pending.ID), third, approving(before.Pending.ID)); next.Pending == nil {
		t.Error("an earlier approval approved a new change")
	}
}

// A Deployment replaces its pods for any difference in bytes, even if it means nothing to Kubernetes.
func TestAnEqualTemplateIsKept(t *testing.T) {
	template, err := second.render(deployment())
	if err != nil {
		t.Fatal(err)
	}
	template.Spec.Containers[0].WithTerminationMessagePath(corev1.TerminationMessagePathDefault)
	decision, err := pending.Decide(pending.Input{
		Given: &pending.Given{Template: template, Spec: deployment()}, Spec: deployment(), Render: second.render, Version: version,
	})
	if err != nil || decision.Given.Template.Spec.Containers[0].TerminationMessagePath == nil || decision.Pending != nil {
		t.Errorf("%+v, %v", decision, err)
	}
}

// The given template also stays when a change of the user's makes no difference while another change is pending.
func TestAnEqualTemplateIsKeptWhileAChangeIsPending(t *testing.T) {
	before := with(deployment(), tolerating("a", "b"))
	template, err := first.render(before)
	if err != nil {
		t.Fatal(err)
	}
	decision := decide(t, first, before, second, with(deployment(), tolerating("b", "a")))
	if difference := cmp.Diff(template, decision.Given.Template); difference != "" || pendingFields(decision) != "image Cold" {
		t.Errorf("%s is pending, and the template changes (-before +after):\n%s", pendingFields(decision), difference)
	}
}

// The user may say later which version is in their image.
func TestTheUserSaysTheVersionOfTheirImageLater(t *testing.T) {
	versioned := decide(t, second, with(warm(), ownImage("own:a", "")), second, with(warm(), ownImage("own:a", "1.6.38")))
	decision, err := pending.Decide(pending.Input{
		Given: &versioned.Given, Spec: with(warm(), ownImage("own:b", "1.6.45")), Render: second.render, Version: func(string) string { return "" },
	})
	if err != nil || images(decision.Given.Template) != "agent:2 own:b" || decision.Pending != nil {
		t.Errorf("the images are %s, pending is %+v, the error %v", images(decision.Given.Template), decision.Pending, err)
	}
}

// A later operator version may not know the image of an earlier one. The template still says its version.
func TestAnImageThatIsNoLongerKnownIsUpgradedWarm(t *testing.T) {
	template, err := first.render(warm())
	if err != nil {
		t.Fatal(err)
	}
	decision, err := pending.Decide(pending.Input{
		Given: &pending.Given{Template: template, Spec: warm()}, Spec: warm(), Render: second.render,
		Version: func(image string) string { return map[string]string{"memcached:1.6.45": "1.6.45"}[image] },
	})
	if err != nil || images(decision.Given.Template) != "agent:2 memcached:1.6.45" || decision.Pending != nil {
		t.Errorf("the images are %s, pending is %+v, the error %v", images(decision.Given.Template), decision.Pending, err)
	}
}

// Where even the image is not all that loses items, a change of the user's is made to what the pods have.
func TestAChangeOfTheUsersBesideAnotherThatIsPending(t *testing.T) {
	given := givenBy(t, first, statefulSet())
	spec := statefulSet()
	spec.PodLabels = map[string]string{"team": "shop"}
	decision, err := pending.Decide(pending.Input{
		Given: &given, Spec: spec, Version: version, Features: inputs.Features{Resize: true},
		Render: func(spec v1alpha1.MemcachedSpec) (*pending.Template, error) {
			template, err := first.render(spec)
			template.Spec.Containers[0].Args = append(template.Spec.Containers[0].Args, "-R", "50")
			return template, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := decision.Given.Template; got.Labels["team"] != "shop" || slices.Contains(got.Spec.Containers[0].Args, "-R") {
		t.Errorf("the pods get the labels %v and the arguments %v", got.Labels, got.Spec.Containers[0].Args)
	}
	if got := pendingFields(decision); !strings.Contains(got, "Cold") || strings.Contains(got, "labels") {
		t.Errorf("pending are %q", got)
	}
}

func TestWritesThatWait(t *testing.T) {
	held := []owned.Held{{ID: "held", Fields: []string{"spec.template.spec.priorityClassName"}}}
	decided := &v1alpha1.MemcachedPending{ID: "decided"}
	for _, test := range []struct {
		pending *v1alpha1.MemcachedPending
		held    []owned.Held
		want    string
	}{{nil, nil, ""}, {decided, nil, "decided"}, {decided, held, "decided"}, {nil, held, "held template.spec.priorityClassName"}} {
		got := ""
		if waits := pending.WithHeld(test.pending, test.held); waits != nil {
			got = waits.ID
			for _, change := range waits.Changes {
				got += " " + change.Field
			}
		}
		if got != test.want {
			t.Errorf("of %+v and %+v, %q waits, want %q", test.pending, test.held, got, test.want)
		}
	}
}
