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

	"github.com/example/memcached-operator/hack/project"
)

// operator plays the operator and the cluster behind it: whatever size is asked for is there at once.
type operator struct {
	items map[string]map[string]string // What memcached holds, by address, then key.
	// replace makes scaling replace every pod, forget makes memcached lose what it is given, miscount makes the status
	// name one pod and replica too many.
	replace, forget, miscount bool
	generation                int
}

func (o *operator) bring(ctx context.Context, c client.Client, object *unstructured.Unstructured, size int) error {
	if o.replace {
		o.generation++
	}
	var nodes []any
	for i := range size {
		name := fmt.Sprintf("%s-%d-%d", object.GetName(), o.generation, i)
		nodes = append(nodes, name)
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: object.GetNamespace(), UID: types.UID(name), Labels: map[string]string{"i": object.GetName()}},
			Status:     corev1.PodStatus{PodIP: fmt.Sprintf("10.0.%d.%d", o.generation, i)},
		}
		if err := c.Create(ctx, pod); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	if err := o.stopOld(ctx, c, nodes); err != nil {
		return err
	}
	if o.miscount {
		nodes = append(nodes, "a-ghost")
	}
	object.Object["status"] = map[string]any{
		"selector": "i=" + object.GetName(), "nodes": nodes, "readyReplicas": int64(len(nodes)), "url": "http://example.foo.com/",
		"conditions": []any{map[string]any{"type": "Ready", "status": "True", "observedGeneration": object.GetGeneration()}},
	}
	return c.Update(ctx, object)
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

// service is what the operator gives every object, whether its kind has one or not.
func service(object client.Object) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: object.GetName(), Namespace: object.GetNamespace()},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 8080}}},
	}
}

func (o *operator) hooks() interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if err := c.Create(ctx, object, options...); err != nil {
				return err
			}
			owner, ok := object.(*unstructured.Unstructured)
			if !ok {
				return nil
			}
			size, found, _ := unstructured.NestedInt64(owner.Object, "spec", "size")
			if !found {
				size, _, _ = unstructured.NestedInt64(owner.Object, "spec", "replicas")
			}
			return errors.Join(c.Create(ctx, service(owner)), o.bring(ctx, c, owner.DeepCopy(), int(size)))
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
			return errors.Join(c.Delete(ctx, service(object)), o.stopOld(ctx, c, nil))
		},
	}
}

// cluster is a cluster on which this operator runs.
func (o *operator) cluster(t *testing.T, existing ...client.Object) client.Client {
	t.Helper()
	known := runtime.NewScheme()
	if err := scheme.AddToScheme(known); err != nil {
		t.Fatal(err)
	}
	for kind, version := range map[string]schema.GroupVersion{
		"Memcached": {Group: "cache.example.com", Version: "v1alpha1"}, "Application": {Group: "app.example.com", Version: "v1alpha1"},
	} {
		known.AddKnownTypeWithName(version.WithKind(kind), &unstructured.Unstructured{})
		known.AddKnownTypeWithName(version.WithKind(kind+"List"), &unstructured.UnstructuredList{})
	}
	return fake.NewClientBuilder().WithScheme(known).WithObjects(existing...).WithInterceptorFuncs(o.hooks()).Build()
}

// told returns results by step, and the steps with their states in order.
func told(results []v1alpha3.TestResult) (byStep map[string]v1alpha3.TestResult, order []string) {
	byStep = map[string]v1alpha3.TestResult{}
	for _, result := range results {
		parts := strings.SplitN(result.Name, ": ", 3) // user-walk, the kind, the step.
		name := parts[len(parts)-1]
		byStep[name], order = result, append(order, name+": "+string(result.State))
	}
	return byStep, order
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

func TestAnExampleOfAnUnknownKindFails(t *testing.T) {
	results := try(t.Context(), nil, unstructured.Unstructured{Object: map[string]any{"kind": "Teapot"}})
	if len(results) != 1 || results[0].State != v1alpha3.ErrorState || !strings.Contains(results[0].Errors[0], "no test for the kind Teapot") {
		t.Errorf("got %+v", results)
	}
}

func TestTheExamplesAreTheBundles(t *testing.T) {
	examples, err := readExamples("../../" + project.BundleDir(project.Version))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, example := range examples {
		names = append(names, example.GetName())
	}
	if want := []string{"memcached-sample", "memcached-production", "application-sample"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	if _, err := readExamples(t.TempDir()); err == nil || errors.Unwrap(err) == nil {
		t.Errorf("no bundle: %v", err)
	}
}
