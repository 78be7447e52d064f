package inputs_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/memcached/inputs"
)

// What has run the nodes until now goes when its successor is settled: so one that has yet to hear of the size is not.
func TestAWorkloadOfAnotherSizeIsNotSettled(t *testing.T) {
	for size, settled := range map[int32]bool{0: true, 3: false} {
		owner := testkit.MakeMemcached("cache").Namespace("default").UID("owner").Size(size).Obj()
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "cache", Generation: 1,
			Annotations:     map[string]string{"cache.example.com/applied-template": `{"spec":{}}`, "cache.example.com/applied-spec": `{"size":0}`},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind(v1alpha1.MemcachedKind))},
		}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](0)}, Status: appsv1.DeploymentStatus{ObservedGeneration: 1}}
		reader := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(deployment).WithStatusSubresource(deployment).Build()
		none := func() (inputs.Features, error) { return inputs.Features{}, nil }
		inputs := &inputs.Reader{Cached: reader, Live: reader, Features: none}
		in, err := inputs.Read(t.Context(), owner, metav1.Now())
		if err != nil || in.Deployment == nil || in.Deployment.Complete != settled {
			t.Errorf("of a cache of %d, a Deployment of none is %+v, %v; want it settled: %t", size, in.Deployment, err, settled)
		}
	}
}
