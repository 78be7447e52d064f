package conditions_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/kube/conditions"
	"github.com/example/memcached-operator/operator/kube/workload"
)

// The API server refuses a status with a longer message: the whole status would stay as it is.
func TestALongMessageIsShortened(t *testing.T) {
	var set []metav1.Condition
	conditions.SetUnread(&set, 1, errors.New("refused: "+strings.Repeat("ä", 40000)), metav1.NewTime(time.Unix(1, 0)))
	for _, kind := range []string{v1alpha1.ConditionDegraded, v1alpha1.ConditionReady} {
		message := meta.FindStatusCondition(set, kind).Message
		if utf8.RuneCountInString(message) != 32768 || !strings.HasPrefix(message, "refused: ä") || !strings.HasSuffix(message, "ä…") {
			t.Errorf("%s has a message of %d characters: %.20s", kind, utf8.RuneCountInString(message), message)
		}
	}
}

// Somebody has paused the Deployment, so its pods stay as they are for ever, and nothing else would tell why.
func TestAPausedDeploymentIsNamed(t *testing.T) {
	var set []metav1.Condition
	conditions.Workload{
		Reconcile: conditions.Reconcile{Observed: workload.Observed{Deployment: &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cache"},
			Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Paused: true},
			Status:     appsv1.DeploymentStatus{Replicas: 2, ReadyReplicas: 2},
		}}},
		Wanted: 2,
	}.SetAll(&set)
	want := "0 of 2 pods are up to date. Deployment cache is paused: kubectl rollout resume deployment cache -n shop"
	if message := meta.FindStatusCondition(set, v1alpha1.ConditionProgressing).Message; message != want {
		t.Errorf("the message is %q, want %q", message, want)
	}
}
