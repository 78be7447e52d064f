//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/walk"
	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
)

// sampleApplication is the Application of the tutorial.
const sampleApplication = "application-sample"

// makeApplication applies an Application, and deletes it with everything it owns when the test ends.
func makeApplication(t *testing.T, namespace, name, spec string) {
	t.Helper()
	must(t, applyManifest(t, applicationManifest(namespace, name, spec)))
	t.Cleanup(func() { deleteApplication(t, namespace, name) })
}

// someCPU are the resources of applications and of their visitors. A container that requests nothing gets next to no CPU while others need it,
// and requests fail for that.
const someCPU = `"resources":{"requests":{"cpu":"50m"}}`

// webSpec returns the spec of an Application that a visitor requests. more are fields of JSON, each after a comma.
func webSpec(image, more string) string {
	return fmt.Sprintf(`{"image":%q,%s%s}`, image, someCPU, more)
}

func applicationManifest(namespace, name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"app.example.com/v1alpha1","kind":"Application","metadata":{"namespace":%q,"name":%q},"spec":%s}`, namespace, name, spec)
}

// makeSample applies the Application of the tutorial, and deletes it with everything it owns when the test ends.
func makeSample(t *testing.T) {
	t.Helper()
	kubectl(t.Context(), t, "apply", "-n", "default", "-f", sample("app_v1alpha1_application.yaml"))
	t.Cleanup(func() { deleteApplication(t, "default", sampleApplication) })
}

func deleteApplication(t *testing.T, namespace, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	must(t, suite.cluster.Delete(ctx, "application", name, "-n", namespace, "--cascade=foreground", "--timeout=90s"))
}

// readyOnceItListens is the probe of a container that is asked as soon as it is ready. A container without one is ready before its program
// listens.
const readyOnceItListens = `"readinessProbe":{"tcpSocket":{"port":8080},"periodSeconds":1}`

// startVisitor runs a pod of the web application's image that requests something all the time: args are "visit" and a URL, or "use"
// and addresses of memcached. The function that it returns gives the results since its last call.
func startVisitor(t *testing.T, namespace, name, image string, args ...string) func(*testing.T) clients.Counts {
	t.Helper()
	kubectl(t.Context(), t, append([]string{
		"run", name, "-n", namespace, "--image=" + image, "--restart=Never", "--override-type=strategic",
		fmt.Sprintf(`--overrides={"spec":{"containers":[{"name":%q,%s,%s}]}}`, name, someCPU, readyOnceItListens), "--",
	}, args...)...)
	t.Cleanup(func() {
		kubectl(context.Background(), t, "delete", "pod", name, "-n", namespace, "--ignore-not-found", "--timeout=1m")
	})
	kubectl(t.Context(), t, "wait", "pod/"+name, "-n", namespace, "--for=condition=Ready", "--timeout=1m")
	return func(t *testing.T) clients.Counts {
		t.Helper()
		var counts clients.Counts
		must(t, json.Unmarshal([]byte(kubectl(t.Context(), t, "get", "--raw", "/api/v1/namespaces/"+namespace+"/pods/"+name+":8080/proxy/counts")), &counts))
		return counts
	}
}

// servicePath returns the path of an Application's page at the API server, which works without access to the cluster's network.
func servicePath(namespace, name string) string {
	return fmt.Sprintf("/api/v1/namespaces/%s/services/%s:8080/proxy/", namespace, name)
}

func visit(t *testing.T, name string) page {
	t.Helper()
	var got page
	must(t, json.Unmarshal([]byte(kubectl(t.Context(), t, "get", "--raw", servicePath("default", name))), &got))
	return got
}

func patchSpec(t *testing.T, name, spec string) {
	t.Helper()
	kubectl(t.Context(), t, "patch", "application", name, "-n", "default", "--type=merge", "-p", `{"spec":`+spec+`}`)
}

func condition(t *testing.T, namespace, name, kind string) string {
	t.Helper()
	return kubectl(t.Context(), t, "get", "application", name, "-n", namespace, "-o", fmt.Sprintf(`jsonpath={.status.conditions[?(@.type==%q)].status}`, kind))
}

// waitReady waits until the Application is ready for its current spec.
func waitReady(t *testing.T, namespace, name string) {
	t.Helper()
	key := types.NamespacedName{Namespace: namespace, Name: name}
	must(t, suite.cluster.WaitReadyResource(t.Context(), appv1alpha1.GroupVersion.WithKind(appv1alpha1.ApplicationKind), key, 2*time.Minute))
}

// waitReason waits until the Application reports that it is not ready for this reason.
func waitReason(t *testing.T, namespace, name, reason string) {
	t.Helper()
	waitApplication(t, namespace, name, appv1alpha1.ConditionReady, "False "+reason)
}

// waitAvailable waits until the Application reports that it is available, which it does a moment after its Deployment is.
func waitAvailable(t *testing.T, namespace, name string) {
	t.Helper()
	waitApplication(t, namespace, name, appv1alpha1.ConditionAvailable, "True")
}

// waitApplication waits until status and reason of a condition of the Application are these, or its status is this.
func waitApplication(t *testing.T, namespace, name, kind, want string) {
	t.Helper()
	must(t, walk.Within(t.Context(), time.Minute, "application "+name+" to report "+kind+" "+want, func(ctx context.Context) error {
		var application appv1alpha1.Application
		if err := suite.cluster.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &application); err != nil {
			return err
		}
		got := meta.FindStatusCondition(application.Status.Conditions, kind)
		if got == nil || !strings.HasPrefix(fmt.Sprint(got.Status, " ", got.Reason, " "), want+" ") {
			return fmt.Errorf("condition %s is %+v", kind, got)
		}
		return nil
	}))
}

// waitRollout waits for the Deployment of an Application that is not ready for other reasons.
func waitRollout(t *testing.T, namespace, name string) {
	t.Helper()
	kubectl(t.Context(), t, "rollout", "status", "deployment/"+name, "-n", namespace, "--timeout=2m")
}

// waitFor waits until a field of the sample Application, or of an object that it owns, has a value.
func waitFor(t *testing.T, what, want, kind, path string) {
	t.Helper()
	must(t, walk.Within(t.Context(), time.Minute, what, func(ctx context.Context) error {
		got, err := suite.cluster.Kubectl(ctx, "get", kind, sampleApplication, "-n", "default", "-o", path)
		if err == nil && got != want {
			err = fmt.Errorf("it is %q, want %q", got, want)
		}
		return err
	}))
}

// labelsOf returns the labels of what the operator made for an Application.
func labelsOf(name string) client.MatchingLabels {
	return client.MatchingLabels{"app.kubernetes.io/managed-by": walk.Package, "app.kubernetes.io/instance": name}
}

// instance selects what the operator made for an Application.
func instance(name string) string {
	return labels.FormatLabels(labelsOf(name))
}

// waitGone waits until nothing of these kinds is left of the Application.
func waitGone(t *testing.T, namespace, name string, kinds ...string) {
	t.Helper()
	must(t, walk.Within(t.Context(), 90*time.Second, strings.Join(kinds, ", ")+" of "+name+" to go", func(ctx context.Context) error {
		left, err := suite.cluster.Kubectl(ctx, "get", strings.Join(kinds, ","), "-n", namespace, "-l", instance(name), "-o", "name")
		if err == nil && left != "" {
			err = errors.New("still there: " + strings.Join(strings.Fields(left), ", "))
		}
		return err
	}))
}

// waitPods waits until the Application in the namespace default has n pods, including those that are being deleted.
func waitPods(t *testing.T, name string, n int) {
	t.Helper()
	must(t, walk.Within(t.Context(), time.Minute, "the replaced pods to go", func(ctx context.Context) error {
		var pods corev1.PodList
		if err := suite.cluster.Client.List(ctx, &pods, client.InNamespace("default"), labelsOf(name)); err != nil {
			return err
		}
		if len(pods.Items) != n {
			var names []string
			for _, pod := range pods.Items {
				names = append(names, pod.Name)
			}
			return fmt.Errorf("there are %d, want %d: %s", len(names), n, strings.Join(names, ", "))
		}
		return nil
	}))
}

// podsOf lists the pods of an Application in the namespace default, one a line: UID and number of restarts.
func podsOf(t *testing.T, name string) string {
	t.Helper()
	return kubectl(t.Context(), t, "get", "pods", "-n", "default", "-l", instance(name), "--sort-by=.metadata.uid",
		"-o", `jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[*].restartCount}{"\n"}{end}`)
}
