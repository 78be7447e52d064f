package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/internal/testkit/testenv"
	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// `kubectl delete --cascade=orphan` of a StatefulSet is a usual repair. The new StatefulSet gets the template of the old one, and what
// was pending is pending.
func TestAnOrphanedStatefulSetKeepsWhatIsPending(t *testing.T) {
	s := newSuite(t)
	s.create("cache", 2, inStatefulSet)
	s.awaitReady("cache", 2)
	before := s.MustPods()
	s.Operator.Stop()
	s.Options.Images = nextImages
	s.StartOperator()
	s.pending(true)
	old := testenv.MustGet[appsv1.StatefulSet](s.Env, "cache")
	if err := cluster.Client.Delete(t.Context(), old.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		t.Fatal(err)
	}
	s.Await("another StatefulSet", func(ctx context.Context) error {
		set, err := testenv.Get[appsv1.StatefulSet](ctx, s.Env, "cache")
		if err == nil && (set.UID == old.UID || set.Status.ReadyReplicas != 2 || set.Status.UpdatedReplicas != 2) {
			err = fmt.Errorf("the status is %+v", set.Status)
		}
		return err
	})
	s.pending(true)
	s.awaitReady("cache", 2)
	if difference := cmp.Diff(before, s.MustPods()); difference != "" {
		t.Errorf("pods were replaced:\n%s", difference)
	}
}

// All who may annotate a workload could make the operator apply any template, until it was recorded.
func TestAnAnnotationIsNotBelievedAfterTheTakeover(t *testing.T) {
	for name, remove := range map[string]string{"with the record's name": "", "without it": `"` + owned.RecordAnnotation + `":null,`} {
		t.Run(name, func(t *testing.T) {
			s := released(t)
			s.pending(true)
			s.Edit(s.memcached("cache"), `{"spec":{"podLabels":{"team":"shop"}}}`)
			s.awaitReady("cache", 2)
			s.Operator.Stop()
			s.Edit(s.deployment("cache"), `{"metadata":{"annotations":{`+remove+`"cache.example.com/applied-spec":"{\"size\":0}","cache.example.com/applied-template":`+
				`"{\"spec\":{\"containers\":[{\"name\":\"memcached\",\"image\":\"foreign\"}]}}"}}}`)
			s.StartOperator()
			s.Edit(s.memcached("cache"), `{"spec":{"size":3}}`)
			s.awaitReady("cache", 3)
			if found := testenv.MustGet[appsv1.Deployment](s.Env, "cache"); found.Spec.Template.Spec.Containers[0].Image == "foreign" {
				t.Error("the operator has applied a foreign template")
			}
		})
	}
}

// A record belongs to its cache and goes with it; the StatefulSet controller does not take it for its own.
func TestRecordsBelongToTheCache(t *testing.T) {
	s := newSuite(t)
	cache := s.create("cache", 1, inStatefulSet)
	s.awaitReady("cache", 1)
	records := &appsv1.ControllerRevisionList{}
	if err := cluster.Client.List(t.Context(), records, client.InNamespace(s.Namespace), client.MatchingLabels{inputs.CacheLabel: "cache"}); err != nil {
		t.Fatal(err)
	}
	if len(records.Items) != 1 || !metav1.IsControlledBy(&records.Items[0], cache) {
		t.Errorf("the records are %+v", records.Items)
	}
}

// Somebody deletes the records of a cache. The operator writes them again when it next looks, and no pod is replaced for it.
func TestDeletedRecordsComeBack(t *testing.T) {
	for name, spec := range map[string]func(*v1alpha1.MemcachedSpec){"Deployment": func(*v1alpha1.MemcachedSpec) {}, "StatefulSet": inStatefulSet} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t)
			before := s.createReady(spec)
			records := func(ctx context.Context) ([]string, error) {
				list := &appsv1.ControllerRevisionList{}
				err := cluster.Client.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingLabels{inputs.CacheLabel: "cache"})
				var names []string
				for _, record := range list.Items {
					names = append(names, record.Name)
				}
				return names, err
			}
			original, err := records(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := cluster.Client.DeleteAllOf(t.Context(), &appsv1.ControllerRevision{}, client.InNamespace(s.Namespace), client.MatchingLabels{inputs.CacheLabel: "cache"}); err != nil {
				t.Fatal(err)
			}
			s.Edit(s.memcached("cache"), `{"spec":{"service":{}}}`)
			s.Await("the records", func(ctx context.Context) error {
				now, err := records(ctx)
				if err == nil && !cmp.Equal(original, now) {
					err = fmt.Errorf("the records are %v, want %v", now, original)
				}
				return err
			})
			s.awaitReady("cache", 2)
			s.keeps(before)
		})
	}
}

// Going back to an earlier release and forth again: that release has given the pods what they have, and nothing is replaced unasked.
func TestGoingBackAndForthReplacesNoPod(t *testing.T) {
	s := released(t)
	waits := s.pending(true)
	s.Edit(s.memcached("cache"), `{"spec":{"updates":{"release":"`+waits.Status.Pending.ID+`"}}}`)
	s.awaitImage(newImage)
	s.awaitReady("cache", 2)
	s.Operator.Stop()
	earlier := releasedDeployment(t)
	earlier.SetNamespace(s.Namespace)
	earlier.SetName("cache")
	earlier.SetAnnotations(map[string]string{"cache.example.com/applied-hash": "276749c4c1757382"})
	now := testenv.MustGet[appsv1.Deployment](s.Env, "cache")
	earlier.SetOwnerReferences(now.OwnerReferences)
	configuration := client.ApplyConfigurationFromUnstructured(earlier)
	if err := cluster.Client.Apply(t.Context(), configuration, client.FieldOwner("memcached-operator"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	s.Edit(s.memcached("cache"), `{"spec":{"updates":null}}`)
	s.Await("the pods of the earlier release", func(ctx context.Context) error {
		found, err := testenv.Get[appsv1.Deployment](ctx, s.Env, "cache")
		if err == nil && (found.Status.ObservedGeneration != found.Generation || found.Status.UpdatedReplicas != 2 || found.Status.Replicas != 2) {
			err = fmt.Errorf("the status is %+v", found.Status)
		}
		return err
	})
	before := s.MustPods()
	s.StartOperator()
	s.pending(true)
	s.awaitReady("cache", 2)
	if difference := cmp.Diff(before, s.MustPods()); difference != "" {
		t.Errorf("pods were replaced:\n%s", difference)
	}
}

// A write changes how a workload of an earlier release is recognised, so that it is taken over only once if it names its record then.
func TestARepairedWorkloadOfAnEarlierReleaseNamesItsRecord(t *testing.T) {
	s := releasedStatefulSet(t)
	before := s.MustPods()
	s.Edit(testenv.Named[appsv1.StatefulSet](s.Env, "cache"), `{"metadata":{"labels":{"app.kubernetes.io/part-of":"another"}}}`)
	s.StartOperator()
	var repaired *appsv1.StatefulSet
	s.Await("the label", func(ctx context.Context) error {
		var err error
		if repaired, err = testenv.Get[appsv1.StatefulSet](ctx, s.Env, "cache"); err == nil && repaired.Labels["app.kubernetes.io/part-of"] != "cache" {
			err = fmt.Errorf("the labels are %v", repaired.Labels)
		}
		return err
	})
	s.awaitReady("cache", 2)
	record := testenv.MustGet[appsv1.ControllerRevision](s.Env, repaired.Annotations[owned.RecordAnnotation])
	if note := record.Annotations[inputs.NoteAnnotation]; !strings.Contains(note, `"revision":"`+repaired.Status.UpdateRevision+`"`) {
		t.Errorf("the StatefulSet names %s, whose note is %s", record.Name, note)
	}
	if named := repaired.Spec.Template.Annotations[owned.RecordAnnotation]; named != "" {
		t.Errorf("the template names %s", named)
	}
	if difference := cmp.Diff(before, s.MustPods()); difference != "" {
		t.Errorf("pods were replaced:\n%s", difference)
	}
}

// A workload of an earlier release that was repaired once keeps its pods whatever a policy adds later.
func TestATakenOverDeploymentKeepsItsPodsAfterARepair(t *testing.T) {
	s := released(t)
	s.pending(true)
	s.awaitReady("cache", 2)
	before := s.MustPods()
	s.Edit(s.deployment("cache"), `{"metadata":{"labels":{"app.kubernetes.io/part-of":"another"}}}`)
	s.AwaitEvent(v1alpha1.EventDriftRepaired)
	s.awaitReady("cache", 2)
	named := testenv.MustGet[appsv1.Deployment](s.Env, "cache").Annotations[owned.RecordAnnotation]
	s.MutateTemplates("preset", anyObject, preset)
	s.Edit(s.memcached("cache"), `{"spec":{"size":3}}`)
	s.awaitReady("cache", 3)
	for name, uid := range before {
		if s.MustPods()[name] != uid {
			t.Errorf("%s was replaced", name)
		}
	}
	found := testenv.MustGet[appsv1.Deployment](s.Env, "cache")
	if now := found.Annotations[owned.RecordAnnotation]; named == "" || now != named || found.Spec.Template.Spec.PriorityClassName != "" {
		t.Errorf("the Deployment named %q, and names %q, with the priority %q", named, now, found.Spec.Template.Spec.PriorityClassName)
	}
}
