package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/pod-security-admission/api"

	"github.com/example/memcached-operator/operator/api/app/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
)

// beyondBaseline is an Application whose pods may not run at the level baseline.
func beyondBaseline() *testkit.Application {
	return web().Env("A", "1").Env("B", "2").Spec(func(spec *v1alpha1.ApplicationSpec) {
		spec.SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}}}
	})
}

// restartAt starts the operator anew with a level of pod security.
func (s *suite) restartAt(level api.Level) {
	s.Helper()
	s.Operator.Stop()
	s.Options.PodSecurity = level
	s.StartOperator()
}

// mustKeep fails the test if one of the pods is gone.
func (s *suite) mustKeep(before map[string]types.UID) {
	s.Helper()
	now := s.MustPods()
	for name, uid := range before {
		if now[name] != uid {
			s.Errorf("pod %s was replaced", name)
		}
	}
}

// A user who may write an Application may not be allowed to create such pods.
func TestPodsBeyondTheLevelAreNotCreated(t *testing.T) {
	s := newSuite(t)
	object := s.create(beyondBaseline())
	_, message := s.awaitReason(object, v1alpha1.ReasonPodSecurityViolation)
	for _, part := range []string{`"baseline"`, "NET_ADMIN", "change spec.podSecurityContext and spec.securityContext", "APPLICATION_POD_SECURITY"} {
		if !strings.Contains(message, part) {
			t.Errorf("the message lacks %q: %s", part, message)
		}
	}
	if _, err := testenv.Get[appsv1.Deployment](t.Context(), s.Env, "web"); !apierrors.IsNotFound(err) {
		t.Errorf("there is a Deployment: %v", err)
	}
	s.Edit(object, `{"spec":{"securityContext":null}}`)
	s.awaitReady("web", 1)
}

func TestTheLevelOfPodSecurityCanBeChosen(t *testing.T) {
	s := newSuite(t)
	s.restartAt(api.LevelRestricted)
	object := s.create(web().Spec(func(spec *v1alpha1.ApplicationSpec) {
		spec.PodSecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(0))}
	}))
	if _, message := s.awaitReason(object, v1alpha1.ReasonPodSecurityViolation); !strings.Contains(message, `"restricted"`) {
		t.Errorf("the message is %s", message)
	}
	s.restartAt(api.LevelBaseline)
	s.awaitReady("web", 1)
	s.restartAt(api.LevelPrivileged)
	s.Edit(object, `{"spec":{"securityContext":{"capabilities":{"add":["NET_ADMIN"]}}}}`)
	s.awaitReady("web", 1)
}

// byEarlierRelease returns an Application beyond baseline that an earlier release has made, and this one looks after. Releases before
// 0.4.0 did not annotate the rendering.
func byEarlierRelease(t *testing.T, annotated bool) *suite {
	t.Helper()
	s := newSuite(t)
	s.restartAt(api.LevelPrivileged)
	s.create(beyondBaseline())
	s.awaitReady("web", 1)
	s.Operator.Stop()
	if !annotated {
		s.Edit(s.deployment(), `{"metadata":{"annotations":{"`+renderingAnnotation+`":null}}}`)
	}
	s.Options.PodSecurity = ""
	s.StartOperator()
	return s
}

func TestPodsBeyondTheLevelThatRunGoOn(t *testing.T) {
	for name, annotated := range map[string]bool{"of 0.3.0": false, "of 0.4.0": true} {
		t.Run(name, func(t *testing.T) {
			s := byEarlierRelease(t, annotated)
			s.AssertRestartWritesNothing(s.application("web"), s.deployment())
			before := s.MustPods()
			s.Edit(s.application("web"), `{"spec":{"replicas":3}}`)
			s.awaitReady("web", 3)
			s.Edit(s.application("web"), `{"spec":{"ingress":{"host":"`+s.Namespace+`.example.com"}}}`)
			if ready := s.awaitReady("web", 3); ready.Status.URL != "http://"+s.Namespace+".example.com/" {
				t.Errorf("the URL is %q", ready.Status.URL)
			}
			s.mustKeep(before)
		})
	}
}

func TestTheDeploymentOfPodsBeyondTheLevelIsRepaired(t *testing.T) {
	for name, annotated := range map[string]bool{"of 0.3.0": false, "of 0.4.0": true} {
		t.Run(name, func(t *testing.T) {
			s := byEarlierRelease(t, annotated)
			s.awaitReady("web", 1)
			s.Edit(s.deployment(), `{"spec":{"template":{"spec":{"containers":[{"name":"application","image":"x"}]}}}}`)
			s.AwaitEvent(v1alpha1.EventDriftRepaired, "image")
			if image := s.deployment().Spec.Template.Spec.Containers[0].Image; image != "registry.example.com/web:1" {
				t.Errorf("the image is %s", image)
			}
			s.awaitReady("web", 1)
			s.Delete(s.deployment())
			s.Await("another Deployment", func(ctx context.Context) error {
				_, err := testenv.Get[appsv1.Deployment](ctx, s.Env, "web")
				return err
			})
			s.awaitReady("web", 1)
		})
	}
}

// A refused change does not keep an autoscaler, or the user, from changing the number of pods.
func TestPodsBeyondTheLevelAreScaledWhileAChangeIsRefused(t *testing.T) {
	s := byEarlierRelease(t, true)
	ready := s.awaitReady("web", 1)
	before, template := s.MustPods(), s.deployment().Spec.Template
	s.Edit(ready, `{"spec":{"replicas":2,"image":"registry.example.com/web:2"}}`)
	for _, size := range []int32{2, 3} {
		s.Edit(ready, fmt.Sprintf(`{"spec":{"replicas":%d}}`, size))
		s.Await("another number of pods", func(ctx context.Context) error {
			found, err := testenv.Get[appsv1.Deployment](ctx, s.Env, "web")
			if err == nil && *found.Spec.Replicas != size {
				err = fmt.Errorf("there are to be %d pods, want %d", *found.Spec.Replicas, size)
			}
			return err
		})
		s.awaitReason(ready, v1alpha1.ReasonPodSecurityViolation)
	}
	if difference := cmp.Diff(template, s.deployment().Spec.Template); difference != "" {
		t.Errorf("the template has changed (-before +after):\n%s", difference)
	}
	s.Edit(ready, `{"spec":{"image":"registry.example.com/web:1"}}`)
	s.awaitReady("web", 3)
	s.mustKeep(before)
}

// Another size would hide that 0.3.0 gave the Deployment this template.
func TestADeploymentOfAnEarlierReleaseKeepsItsSizeWhileAChangeIsRefused(t *testing.T) {
	s := byEarlierRelease(t, false)
	ready := s.awaitReady("web", 1)
	before := s.MustPods()
	s.Edit(ready, `{"spec":{"replicas":2,"image":"registry.example.com/web:2"}}`)
	s.awaitReason(ready, v1alpha1.ReasonPodSecurityViolation)
	if size := *s.deployment().Spec.Replicas; size != 1 {
		t.Errorf("there are to be %d pods, want 1", size)
	}
	s.Edit(ready, `{"spec":{"image":"registry.example.com/web:1"}}`)
	s.awaitReady("web", 2)
	s.mustKeep(before)
}

func TestPodsBeyondTheLevelChangeOnlyToMeetIt(t *testing.T) {
	for name, test := range map[string]struct{ refused, back string }{
		"the image":       {`{"spec":{"image":"registry.example.com/web:2"}}`, `{"spec":{"image":"registry.example.com/web:1"}}`},
		"a variable less": {`{"spec":{"env":[{"name":"B","value":"2"}]}}`, `{"spec":{"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]}}`},
		"more privilege":  {`{"spec":{"podSecurityContext":{"runAsUser":0}}}`, `{"spec":{"podSecurityContext":null}}`},
	} {
		for release, annotated := range map[string]bool{"of 0.3.0": false, "of 0.4.0": true} {
			t.Run(name+" "+release, func(t *testing.T) {
				s := byEarlierRelease(t, annotated)
				ready := s.awaitReady("web", 1)
				before, generation := s.MustPods(), s.deployment().Generation
				s.Edit(ready, test.refused)
				s.awaitReason(ready, v1alpha1.ReasonPodSecurityViolation)
				if now := s.deployment().Generation; now != generation {
					t.Errorf("the Deployment has the generation %d, before %d", now, generation)
				}
				s.Edit(ready, test.back)
				s.awaitReady("web", 1)
				s.mustKeep(before)
				s.Edit(ready, `{"spec":{"image":"registry.example.com/web:2","securityContext":null}}`)
				s.Await("the pods meet the level", func(ctx context.Context) error {
					found, err := testenv.Get[appsv1.Deployment](ctx, s.Env, "web")
					if err == nil && (found.Spec.Template.Spec.Containers[0].Image != "registry.example.com/web:2" ||
						len(found.Spec.Template.Spec.Containers[0].SecurityContext.Capabilities.Add) > 0) {
						err = fmt.Errorf("the template is %+v", found.Spec.Template.Spec)
					}
					return err
				})
				s.awaitReady("web", 1)
			})
		}
	}
}
