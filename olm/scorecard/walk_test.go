package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/example/memcached-operator/hack/bundle/project"
)

// operator plays the operator, the cluster behind it and memcached: whatever size is asked for is there at once.
type operator struct {
	items map[string]map[string]string // By address, then key.
	// replace makes scaling replace every pod, forget makes servers lose what they are given.
	replace, forget bool
	generation      int
}

func (o *operator) bring(ctx context.Context, c client.Client, cache *unstructured.Unstructured, size int) error {
	if o.replace {
		o.generation++
	}
	var nodes []any
	for i := range size {
		name := fmt.Sprintf("%s-%d-%d", cache.GetName(), o.generation, i)
		nodes = append(nodes, name)
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: cache.GetNamespace(), UID: types.UID(name), Labels: map[string]string{"i": cache.GetName()}},
			Status:     corev1.PodStatus{PodIP: fmt.Sprintf("10.0.%d.%d", o.generation, i)},
		}
		if err := c.Create(ctx, pod); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	if err := o.stopOld(ctx, c, nodes); err != nil {
		return err
	}
	cache.Object["status"] = map[string]any{
		"selector": "i=" + cache.GetName(), "nodes": nodes,
		"conditions": []any{map[string]any{"type": "Ready", "status": "True", "observedGeneration": cache.GetGeneration()}},
	}
	return c.Update(ctx, cache)
}

func (o *operator) stopOld(ctx context.Context, c client.Client, keep []any) error {
	var pods corev1.PodList
	if err := c.List(ctx, &pods); err != nil {
		return err
	}
	for _, pod := range pods.Items {
		if !slices.Contains(keep, any(pod.Name)) {
			if err := c.Delete(ctx, &pod); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *operator) hooks() interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if err := c.Create(ctx, object, options...); err != nil {
				return err
			}
			cache, isCache := object.(*unstructured.Unstructured)
			if !isCache {
				return nil
			}
			size, _, _ := unstructured.NestedInt64(cache.Object, "spec", "size")
			return o.bring(ctx, c, cache.DeepCopy(), int(size))
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, _ string, object client.Object, options ...client.SubResourceUpdateOption) error {
			var applied client.SubResourceUpdateOptions
			applied.ApplyOptions(options)
			scale := applied.SubResourceBody.(*autoscalingv1.Scale)
			if scale.Name != object.GetName() {
				return apierrors.NewBadRequest("the name of the object does not match the name on the URL")
			}
			return o.bring(ctx, c, object.DeepCopyObject().(*unstructured.Unstructured), int(scale.Spec.Replicas))
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if err := c.Delete(ctx, object, options...); err != nil {
				return err
			}
			return o.stopOld(ctx, c, nil)
		},
	}
}

func (o *operator) dial(address string) server { return &memory{o, address} }

// memory is a memcached server that lives in a map.
type memory struct {
	operator *operator
	address  string
}

func (m *memory) Set(item *memcache.Item) error {
	if !m.operator.forget {
		m.operator.items[m.address] = map[string]string{item.Key: string(item.Value)}
	}
	return nil
}

func (m *memory) Get(key string) (*memcache.Item, error) {
	value, ok := m.operator.items[m.address][key]
	if !ok {
		return nil, memcache.ErrCacheMiss
	}
	return &memcache.Item{Key: key, Value: []byte(value)}, nil
}

func (m *memory) Close() error { return nil }

func take(t *testing.T, o *operator, existing ...client.Object) (map[string]v1alpha3.TestResult, []string) {
	t.Helper()
	kind := schema.GroupVersionKind{Group: "cache.example.com", Version: "v1alpha1", Kind: "Memcached"}
	known := runtime.NewScheme()
	if err := scheme.AddToScheme(known); err != nil {
		t.Fatal(err)
	}
	known.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
	known.AddKnownTypeWithName(kind.GroupVersion().WithKind("MemcachedList"), &unstructured.UnstructuredList{})
	o.items = map[string]map[string]string{}
	w := &walk{
		cluster: fake.NewClientBuilder().WithScheme(known).WithObjects(existing...).WithInterceptorFuncs(o.hooks()).Build(),
		cache:   cache(), dial: o.dial,
	}
	results, order := map[string]v1alpha3.TestResult{}, []string(nil)
	for _, result := range w.run(t.Context()) {
		name := strings.TrimPrefix(result.Name, "user-walk: ")
		results[name], order = result, append(order, name+": "+string(result.State))
	}
	return results, order
}

func cache() unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached",
		"metadata": map[string]any{"name": "memcached-sample", "namespace": "n"}, "spec": map[string]any{"size": int64(2)},
	}}
}

func TestAWorkingOperatorPassesEveryStep(t *testing.T) {
	_, order := take(t, &operator{})
	want := []string{
		"create the example: pass", "wait until it is ready: pass", "store and read a key on every server: pass",
		"scale it up: pass", "read the keys again: pass", "delete it: pass",
	}
	if !slices.Equal(order, want) {
		t.Errorf("got  %v\nwant %v", order, want)
	}
}

func TestAStepThatFailsEndsTheWalkAndTheCacheIsTakenAway(t *testing.T) {
	results, order := take(t, &operator{forget: true})
	failed := results["store and read a key on every server"]
	if failed.State != v1alpha3.FailState || len(failed.Errors) != 1 || !strings.Contains(failed.Errors[0], "cache miss") || len(failed.Suggestions) != 1 {
		t.Errorf("got %+v", failed)
	}
	if last := order[len(order)-1]; last != "delete it: pass" || len(order) != 4 {
		t.Errorf("the walk went %v", order)
	}
}

func TestReplacedPodsAreNotToleratedWhenScalingUp(t *testing.T) {
	results, _ := take(t, &operator{replace: true})
	if failed := results["scale it up"]; failed.State != v1alpha3.FailState || !strings.Contains(failed.Errors[0], "was replaced by scaling up") {
		t.Errorf("got %+v", failed)
	}
}

func TestSomebodyElsesCacheIsNotTouched(t *testing.T) {
	theirs := cache()
	results, order := take(t, &operator{}, &theirs)
	failed := results["create the example"]
	if len(order) != 1 || failed.State != v1alpha3.FailState || !strings.Contains(failed.Suggestions[0], "namespace of its own") {
		t.Errorf("got %v, %+v", order, failed)
	}
}

func TestReadinessSaysWhatIsMissing(t *testing.T) {
	with := func(condition map[string]any) unstructured.Unstructured {
		c := cache()
		c.SetGeneration(2)
		if condition != nil {
			c.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": "True"}, condition}}
		}
		return c
	}
	for want, condition := range map[string]map[string]any{
		"there is no condition Ready": nil,
		"of an older generation":      {"type": "Ready", "status": "True", "observedGeneration": int64(1)},
		"is False: NodesStarting: one is missing": {
			"type": "Ready", "status": "False", "observedGeneration": int64(2), "reason": "NodesStarting", "message": "one is missing",
		},
	} {
		if err := readiness(with(condition)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := readiness(with(map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(2)})); err != nil {
		t.Error(err)
	}
}

func TestOutsideAScorecardTheResultSaysSo(t *testing.T) {
	t.Setenv("SCORECARD_NAMESPACE", "")
	var out bytes.Buffer
	if err := run(t.Context(), []string{"user-walk"}, &out); err != nil {
		t.Fatal(err)
	}
	var status v1alpha3.TestStatus
	if err := json.Unmarshal(out.Bytes(), &status); err != nil {
		t.Fatalf("the output is not a test status: %v\n%s", err, out.Bytes())
	}
	if len(status.Results) != 1 || status.Results[0].State != v1alpha3.ErrorState || !strings.Contains(status.Results[0].Errors[0], bundleRoot) {
		t.Errorf("got %+v", status)
	}
	if err := run(t.Context(), nil, &out); err == nil || !strings.Contains(err.Error(), "usage:") {
		t.Errorf("without arguments: %v", err)
	}
}

func TestTheExamplesAreTheBundles(t *testing.T) {
	examples, err := readExamples("../../" + project.BundleDir(project.Version))
	if err != nil {
		t.Fatal(err)
	}
	if len(examples) != 1 || examples[0].GetName() != "memcached-sample" {
		t.Errorf("got %v", examples)
	}
	if _, err := readExamples(t.TempDir()); err == nil || errors.Unwrap(err) == nil {
		t.Errorf("no bundle: %v", err)
	}
}
