package pending_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
	"github.com/example/memcached-operator/operator/memcached/inputs"
	"github.com/example/memcached-operator/operator/memcached/update/pending"
)

// allMissing says that no image is on any node.
func allMissing(images map[string]string) []pending.Missing {
	return []pending.Missing{{Container: pod.MemcachedContainer, Node: "node-1"}}
}

func TestANewWorkloadGetsTheWantedTemplate(t *testing.T) {
	for want, spec := range map[string]v1alpha1.MemcachedSpec{"memcached:1.6.45": deployment(), "agent:2 memcached:1.6.45": statefulSet()} {
		decision, err := pending.Decide(pending.Input{Spec: spec, Render: second.render, Version: version, Missing: allMissing})
		if err != nil || images(decision.Given.Template) != want || decision.Pending != nil || decision.Pull != nil {
			t.Errorf("%+v, %v", decision, err)
		}
	}
}

func TestASpecThatCannotBeRendered(t *testing.T) {
	given := givenBy(t, first, statefulSet())
	for _, given := range []*pending.Given{nil, &given} {
		_, err := pending.Decide(pending.Input{Given: given, Spec: with(statefulSet(), pinned("1.0.0")), Render: second.render, Version: version, Missing: allMissing})
		if err == nil || !strings.Contains(err.Error(), "1.6.18, 1.6.45") {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestATemplateThatCannotBeRead(t *testing.T) {
	decision, err := pending.Decide(pending.Input{
		Given: &pending.Given{Template: &pending.Template{}, Spec: deployment()}, Spec: deployment(), Render: second.render, Version: version,
	})
	if err != nil || pendingFields(decision) != "template Cold" {
		t.Errorf("pending are %q, the error %v", pendingFields(decision), err)
	}
}

func annotated(s *v1alpha1.MemcachedSpec) { s.PodAnnotations = map[string]string{"refused": "true"} }

func storing(s *v1alpha1.MemcachedSpec) {
	s.Resources.Limits = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse("1Gi")}
}

// refusing renders as a release that does not know memcached 1.6.18, refuses an annotation, and changes templates besides.
func refusing(r release, change func(*pending.Template)) func(v1alpha1.MemcachedSpec) (*pending.Template, error) {
	return func(spec v1alpha1.MemcachedSpec) (*pending.Template, error) {
		if spec.PodAnnotations != nil || spec.Version == "1.6.18" {
			return nil, errors.New("refused")
		}
		template, err := r.render(spec)
		if err == nil && change != nil {
			change(template)
		}
		return template, err
	}
}

// A release refuses a spec of before, and brings more that would lose items. The user corrects the spec, and has not asked for that.
func TestTheWayOutOfASpecThatCanNoLongerBeRenderedKeepsItems(t *testing.T) {
	probed := func(template *pending.Template) { template.Spec.WithTerminationGracePeriodSeconds(7) }
	tls := func(s *v1alpha1.MemcachedSpec) { s.TLS = &v1alpha1.MemcachedTLS{SecretName: "tls"} }
	for name, test := range map[string]struct {
		spec    v1alpha1.MemcachedSpec
		before  func(*v1alpha1.MemcachedSpec)
		release release
		change  func(*pending.Template)
		correct func(*v1alpha1.MemcachedSpec)
		missing func(map[string]string) []pending.Missing
		want    string // The images.
		pending string
		made    bool
	}{
		"another memcached": {spec: statefulSet(), before: annotated, release: second, want: "agent:2 memcached:1.6.18", pending: "image Cold", made: true},
		"another part of the template": {spec: statefulSet(), before: annotated, release: first, change: probed, want: "agent:1 memcached:1.6.18",
			pending: "annotations Live, template.spec.terminationGracePeriodSeconds Cold"},
		"another agent of a Deployment, and the user names the image that runs": {spec: with(deployment(), tls), before: pinned("1.6.18"), release: second,
			correct: ownImage("memcached:1.6.18", ""), want: "agent:1 memcached:1.6.18", pending: "agentImage Cold", made: true},
		"another memcached, and the user asks for it": {spec: statefulSet(), before: annotated, release: second, correct: pinned("1.6.45"),
			want: "agent:2 memcached:1.6.45", made: true},
		"an agent that cannot be pulled": {spec: statefulSet(), before: annotated, release: second, correct: labelled, missing: missingAgent,
			want: "agent:1 memcached:1.6.18", pending: "image Cold, agentImage Live, annotations Live, labels Live"},
		"ephemeral storage": {spec: statefulSet(), before: annotated, release: second, correct: storing, want: "agent:2 memcached:1.6.45", made: true},
	} {
		t.Run(name, func(t *testing.T) {
			before := with(test.spec, test.before)
			template, err := first.render(before)
			if err != nil {
				t.Fatal(err)
			}
			spec := test.spec
			if test.correct != nil {
				spec = with(spec, test.correct)
			}
			decision, err := pending.Decide(pending.Input{
				Given: &pending.Given{Template: template, Spec: before}, Spec: spec, Render: refusing(test.release, test.change),
				Version: version, Missing: test.missing,
			})
			if err != nil || pendingFields(decision) != test.pending || images(decision.Given.Template) != test.want {
				t.Fatalf("the images are %s, pending are %q, %v", images(decision.Given.Template), pendingFields(decision), err)
			}
			if _, found := decision.Given.Template.Annotations["refused"]; found == test.made {
				t.Errorf("the correction is made: %v", !found)
			}
			if recorded := equality.Semantic.DeepEqual(decision.Given.Spec, spec); recorded != test.made {
				t.Errorf("the corrected spec is recorded: %v", recorded)
			}
		})
	}
}

// missingAgent says that the agent's image cannot be pulled.
func missingAgent(images map[string]string) []pending.Missing {
	return []pending.Missing{{Container: "agent", Node: "node-1", Problem: inputs.PullProblem{Message: "it cannot be pulled"}}}
}

// Without a rendering of the earlier spec, the changes of the user cannot be told from those of the operator.
func TestAnEarlierSpecThatCanNoLongerBeRendered(t *testing.T) {
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
	decision, err := pending.Decide(pending.Input{
		Given: &pending.Given{Template: template, Spec: before}, Spec: deployment(), Render: render, Version: version,
	})
	if err != nil || images(decision.Given.Template) != "memcached:1.6.45" {
		t.Errorf("%+v, %v", decision, err)
	}
}
