package pending_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/memcached/desired/pod"
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

// A release refuses a spec of before, and has another image of memcached. The user corrects the spec, and has not asked for that image.
func TestTheWayOutOfASpecThatCanNoLongerBeRenderedKeepsItems(t *testing.T) {
	before := with(statefulSet(), func(s *v1alpha1.MemcachedSpec) { s.PodAnnotations = map[string]string{"refused": "true"} })
	template, err := first.render(before)
	if err != nil {
		t.Fatal(err)
	}
	render := func(spec v1alpha1.MemcachedSpec) (*pending.Template, error) {
		if spec.PodAnnotations != nil {
			return nil, errors.New("refused")
		}
		return second.render(spec)
	}
	decision, err := pending.Decide(pending.Input{
		Given: &pending.Given{Template: template, Spec: before}, Spec: statefulSet(), Render: render, Version: version,
	})
	if err != nil || pendingFields(decision) != "image Cold" || pending.ImagesOf(decision.Given.Template)["memcached"] != pending.ImagesOf(template)["memcached"] {
		t.Fatalf("the images are %s, pending are %q, %v", images(decision.Given.Template), pendingFields(decision), err)
	}
	if _, found := decision.Given.Template.Annotations["refused"]; found {
		t.Errorf("the template keeps what the user has removed: %v", decision.Given.Template.Annotations)
	}
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
