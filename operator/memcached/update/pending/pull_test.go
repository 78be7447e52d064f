package pending_test

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/pending"
)

var (
	pulling = inputs.PullProblem{}
	broken  = inputs.PullProblem{Message: "the image cannot be pulled"}
	refused = inputs.PullProblem{Message: "the pod is refused", Refused: true}
)

// decideWithout is like decide for a StatefulSet, while the images that begin with missing are not on its node.
func decideWithout(
	t *testing.T, missing string, problem inputs.PullProblem, given pending.Given, now release, spec v1alpha1.MemcachedSpec,
) pending.Decision {
	t.Helper()
	decision, err := pending.Decide(pending.Input{
		Given: &given, Spec: spec, Render: now.render, Version: version, Features: inputs.Features{Resize: true},
		Missing: func(images map[string]string) []pending.Missing {
			for container, image := range images {
				if strings.HasPrefix(image, missing) {
					return []pending.Missing{{Container: container, Node: "node-1", Problem: problem}}
				}
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return decision
}

func givenBy(t *testing.T, by release, spec v1alpha1.MemcachedSpec) pending.Given {
	t.Helper()
	template, err := by.render(spec)
	if err != nil {
		t.Fatal(err)
	}
	return pending.Given{Template: template, Spec: spec}
}

func TestImagesThatAreMissing(t *testing.T) {
	at := func(version string, changes ...func(*v1alpha1.MemcachedSpec)) v1alpha1.MemcachedSpec {
		spec := statefulSet()
		spec.Version = version
		for _, change := range changes {
			change(&spec)
		}
		return spec
	}
	warm := func(spec *v1alpha1.MemcachedSpec) { spec.WarmRestart = true }
	labelled := func(spec *v1alpha1.MemcachedSpec) { spec.PodLabels = map[string]string{"team": "shop"} }
	automatic := func(spec *v1alpha1.MemcachedSpec) {
		spec.Updates = &v1alpha1.MemcachedUpdates{Policy: v1alpha1.UpdateAutomatic}
	}
	const old = "agent:1 memcached:1.6.18"
	for name, test := range map[string]struct {
		before, now v1alpha1.MemcachedSpec
		missing     string
		problem     inputs.PullProblem
		images      string
		labelled    bool
		pending     string
		pull        pending.Pull
	}{
		"all there": {before: at("1.6.18"), now: at("1.6.18", labelled), missing: "none", images: "agent:2 memcached:1.6.18", labelled: true},
		"being pulled": {before: at("1.6.18"), now: at("1.6.18", labelled), missing: "agent:2", problem: pulling, images: old,
			pull: pending.Pull{Message: "Images are being pulled on node node-1"}},
		"an agent that cannot be pulled": {before: at("1.6.18"), now: at("1.6.18", labelled), missing: "agent:2", problem: broken, images: old,
			labelled: true, pending: "agentImage Live", pull: pending.Pull{Failed: true, Alone: true}},
		"nobody has asked for it": {before: at("1.6.18"), now: at("1.6.18"), missing: "agent:2", problem: broken, images: old,
			pending: "agentImage Live", pull: pending.Pull{Failed: true, Alone: true}},
		"a version that the user has asked for": {before: at("1.6.18", warm), now: at("1.6.45", warm, labelled), missing: "memcached:1.6.45",
			problem: broken, images: old, labelled: true, pending: "agentImage Live, image Warm", pull: pending.Pull{Failed: true, Alone: true, ByUser: true}},
		"a version that the user has asked for, and an agent that cannot be pulled": {before: at("1.6.18", warm), now: at("1.6.45", warm), missing: "agent:2",
			problem: broken, images: "agent:1 memcached:1.6.45", pending: "agentImage Live", pull: pending.Pull{Failed: true, Alone: true}},
		"a new version of the operator's": {before: at("", warm), now: at("", warm), missing: "memcached:1.6.45", problem: broken, images: old,
			pending: "agentImage Live, image Warm", pull: pending.Pull{Failed: true, Alone: true}},
		"along with a change that loses items": {before: at("1.6.18"), now: at("1.6.45", func(s *v1alpha1.MemcachedSpec) { s.Threads = ptr.To[int32](2) }),
			missing: "memcached:1.6.45", problem: broken, images: old,
			pending: "agentImage Live, annotations Live, arguments.cacheMemory Live, arguments.threads Cold, image Cold",
			pull:    pending.Pull{Failed: true, Alone: true, ByUser: true}},
		"a change of the user's that loses items, and another agent": {before: at("1.6.18"),
			now: at("1.6.18", labelled, func(s *v1alpha1.MemcachedSpec) { s.Threads = ptr.To[int32](2) }), missing: "agent:2", problem: broken,
			images: old, labelled: true, pending: "agentImage Live", pull: pending.Pull{Failed: true, Alone: true}},
		"beside another pending change": {before: at(""), now: at(""), missing: "agent:2", problem: broken, images: old,
			pending: "image Cold, agentImage Live", pull: pending.Pull{Failed: true}},
		"refused": {before: at("1.6.18"), now: at("1.6.18"), missing: "agent:2", problem: refused, images: old,
			pending: "agentImage Live", pull: pending.Pull{Failed: true, Alone: true}},
		"refused, automatic": {before: at("1.6.18", automatic), now: at("1.6.18", automatic), missing: "agent:2", problem: refused,
			images: "agent:2 memcached:1.6.18"},
		"cannot be pulled, automatic": {before: at("1.6.18", automatic), now: at("1.6.18", automatic), missing: "agent:2", problem: broken,
			images: old, pending: "agentImage Live", pull: pending.Pull{Failed: true, Alone: true}},
		"being pulled, automatic": {before: at("1.6.18", automatic), now: at("1.6.18", automatic), missing: "agent:2", problem: pulling,
			images: old, pull: pending.Pull{Message: "Images are being pulled on node node-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			decision := decideWithout(t, test.missing, test.problem, givenBy(t, first, test.before), second, test.now)
			if got := images(decision.Given.Template); got != test.images {
				t.Errorf("the pods get %s, want %s", got, test.images)
			}
			if got := decision.Given.Template.Labels["team"] == "shop"; got != test.labelled {
				t.Errorf("the pods get the label: %t, want %t", got, test.labelled)
			}
			if got := pendingFields(decision); got != test.pending {
				t.Errorf("pending are %q, want %q", got, test.pending)
			}
			if test.problem.Message != "" && test.pull.Failed {
				test.pull.Message = "On node node-1, " + test.problem.Message
			}
			if got := decision.Pull; got == nil && test.pull != (pending.Pull{}) || got != nil && *got != test.pull {
				t.Errorf("it waits for %+v, want %+v", got, test.pull)
			}
		})
	}
}

// Approving the change to images that are missing approves the same change in the items that it loses, and not the other way round.
func TestApprovalOfImagesThatAreMissing(t *testing.T) {
	given, spec := givenBy(t, first, statefulSet()), statefulSet()
	approve := func(id string) pending.Decision {
		spec.Updates = &v1alpha1.MemcachedUpdates{Release: id}
		return decideWithout(t, "memcached:1.6.45", broken, given, second, spec)
	}
	waits := approve("")
	if got := images(waits.Given.Template); got != "agent:2 memcached:1.6.18" || waits.Pull != nil {
		t.Fatalf("without approval, the pods get %s and wait for %+v", got, waits.Pull)
	}
	approved := approve(waits.Pending.ID)
	if got := images(approved.Given.Template); got != "agent:1 memcached:1.6.18" || approved.Pull == nil || approved.Pending.ID == waits.Pending.ID {
		t.Fatalf("the pods get %s and wait for %+v, pending is %+v", got, approved.Pull, approved.Pending)
	}
	unpulled := approve(approved.Pending.ID)
	if got := images(unpulled.Given.Template); got != "agent:2 memcached:1.6.45" || unpulled.Pending != nil {
		t.Errorf("the pods get %s, pending is %+v", got, unpulled.Pending)
	}
}

// An image that the user asked for does not wait for approval once it can be pulled.
func TestAnImageThatComesLater(t *testing.T) {
	spec := statefulSet()
	spec.Version = "1.6.45"
	kept := decideWithout(t, "memcached:1.6.45", broken, givenBy(t, second, v1alpha1.MemcachedSpec{Size: 3, Workload: v1alpha1.WorkloadStatefulSet, Version: "1.6.18"}), second, spec)
	if kept.Given.Spec.Version != "1.6.18" || kept.Cause != inputs.ByUser {
		t.Fatalf("the pods were given what the user wants with version %q, by %s", kept.Given.Spec.Version, kept.Cause)
	}
	later := decideWithout(t, "none", broken, kept.Given, second, spec)
	if got := images(later.Given.Template); got != "agent:2 memcached:1.6.45" || later.Pending != nil {
		t.Errorf("the pods get %s, pending is %+v", got, later.Pending)
	}
}

// The version that the user gave for their image stays with it while another image cannot be pulled.
func TestAnImageOfTheUsersThatIsMissing(t *testing.T) {
	given := givenBy(t, second, with(warm(), ownImage("own:a", "1.6.38")))
	kept := decideWithout(t, "own:b", broken, given, second, with(warm(), ownImage("own:b", "1.6.45"), labelled)).Given.Template
	if version := kept.Annotations[pod.VersionAnnotation]; images(kept) != "agent:2 own:a" || version != "1.6.38" || kept.Labels["team"] != "shop" {
		t.Errorf("the pods get %s with version %q and the labels %v", images(kept), version, kept.Labels)
	}
}

// A template that pods already have in part waits as well, and may be approved.
func TestAnImageThatIsMissingHalfWay(t *testing.T) {
	spec := statefulSet()
	given := givenBy(t, second, spec)
	decision := decideWithout(t, "memcached:1.6.45", broken, given, second, spec)
	if got := images(decision.Given.Template); got != "agent:2 memcached:1.6.45" || decision.Pull == nil || !decision.Pull.Failed {
		t.Fatalf("the pods get %s and wait for %+v", got, decision.Pull)
	}
	if got := pendingFields(decision); got != "image Cold" || decision.Pending.Class != "Cold" {
		t.Errorf("pending are %q, at worst %s", got, decision.Pending.Class)
	}
	spec.Updates = &v1alpha1.MemcachedUpdates{Release: decision.Pending.ID}
	if decision = decideWithout(t, "memcached:1.6.45", broken, given, second, spec); decision.Pull != nil || decision.Pending != nil {
		t.Errorf("after the approval, they wait for %+v", decision.Pull)
	}
}

// What the user changes while an image of the operator's is missing is the user's change, and nothing else is: an image that the operator
// wants later, and that loses items, waits for approval.
func TestWhoWantsAnImageAfterAnotherWasMissing(t *testing.T) {
	pinned, unpinned := statefulSet(), statefulSet()
	pinned.Version = "1.6.18"
	kept := decideWithout(t, "agent:3", broken, givenBy(t, first, pinned), third, unpinned)
	later := decideWithout(t, "none", broken, kept.Given, second, unpinned)
	if got := images(later.Given.Template); got != "agent:2 memcached:1.6.18" || later.Pending == nil {
		t.Errorf("the pods get %s, pending is %+v", got, later.Pending)
	}
	kept = decideWithout(t, "agent:3", broken, givenBy(t, first, unpinned), third, pinned)
	if again := decideWithout(t, "agent:3", broken, kept.Given, third, pinned); again.Cause != inputs.ByOperator {
		t.Errorf("the agent is wanted by %s", again.Cause)
	}
}
