package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/operator/api/cache/v1alpha1"
	"github.com/example/memcached-operator/operator/internal/testkit"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
	"github.com/example/memcached-operator/operator/monitoring/manifest"
)

// workloads returns Deployments and StatefulSets that the operator writes, by the golden file that shows them.
func workloads(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	found := map[string]*unstructured.Unstructured{}
	for _, folder := range []string{"memcached/desired/testdata", "memcached/desired/pod/testdata", "application/desired/testdata"} {
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(folder), "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatal(folder, err)
		}
		for _, file := range files {
			var content map[string]any
			raw, err := os.ReadFile(file)
			if err == nil {
				err = yaml.Unmarshal(raw, &content)
			}
			if err != nil {
				t.Fatal(err)
			}
			if present, ok := content["Present"].([]any); ok {
				for _, object := range present {
					if kind := object.(map[string]any)["kind"]; kind == "Deployment" || kind == "StatefulSet" {
						found[file] = &unstructured.Unstructured{Object: object.(map[string]any)}
					}
				}
				continue
			}
			labels, _, _ := unstructured.NestedMap(content, "metadata", "labels")
			found[file] = &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "cache"},
				"spec": map[string]any{"template": content, "selector": map[string]any{"matchLabels": labels}},
			}}
		}
	}
	return found
}

func TestThePolicyForTheOperator(t *testing.T) {
	namespace := cluster.Namespace(t)
	operator := as(t, namespace, "system:serviceaccount:memcached-operator-system:memcached-operator-controller-manager", rbacv1.PolicyRule{
		APIGroups: []string{"", "apps"}, Verbs: []string{"*"}, Resources: []string{"pods", "pods/resize", "deployments", "statefulsets"},
	})
	own := map[string]string{"app.kubernetes.io/managed-by": "memcached-operator"}
	pod := func() *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pod", Labels: own},
			Spec: corev1.PodSpec{
				NodeName: "node", AutomountServiceAccountToken: ptr.To(false), RestartPolicy: corev1.RestartPolicyNever,
				Containers: []corev1.Container{{Name: "memcached", Image: "memcached:1"}},
			},
		}
	}
	deployment := func(name string, privileged bool) *appsv1.Deployment {
		wanted := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: own}}
		wanted.Spec.Selector = &metav1.LabelSelector{MatchLabels: own}
		wanted.Spec.Template.Labels, wanted.Spec.Template.Spec = own, pod().Spec
		wanted.Spec.Template.Spec.RestartPolicy, wanted.Spec.Template.Spec.NodeName = "", ""
		wanted.Spec.Template.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: &privileged}
		return wanted
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	foreign := pod()
	foreign.Name, foreign.Labels = "foreign", nil
	mine := pod()
	mine.Name = "mine"
	theirs, old := deployment("theirs", false), deployment("old", true)
	theirs.Labels = nil
	for _, object := range []client.Object{account, foreign, mine, theirs, old} {
		if err := cluster.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	applyPolicy(t, "operator.yaml", func(ctx context.Context) error {
		return operator.Create(ctx, deployment("probe", true), client.DryRunAll)
	})

	for file, object := range workloads(t) {
		t.Run(file, func(t *testing.T) {
			object.SetNamespace(namespace)
			says := ""
			if filepath.Base(file) == "open-security.yaml" {
				says = "are not privileged"
			}
			check(t, operator.Create(t.Context(), object, client.DryRunAll), says)
		})
	}
	check(t, operator.Create(t.Context(), pod(), client.DryRunAll), "")
	for says, change := range map[string]func(*corev1.PodSpec){
		"no token of a ServiceAccount": func(s *corev1.PodSpec) { s.AutomountServiceAccountToken = nil },
		"no token":                     func(s *corev1.PodSpec) { s.ServiceAccountName = "admin" },
		"only volumes of the kinds": func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "a", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "a"}}}}}
		},
		"read variables one by one": func(s *corev1.PodSpec) {
			s.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "a"}}}}
		},
	} {
		wanted := deployment("new", false)
		change(&wanted.Spec.Template.Spec)
		check(t, operator.Create(t.Context(), wanted, client.DryRunAll), says)
	}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "set", Labels: own}}
	set.Spec.Selector, set.Spec.Template = deployment("set", false).Spec.Selector, deployment("set", false).Spec.Template
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}}
	check(t, operator.Create(t.Context(), set, client.DryRunAll), "no volume claims")
	patch := func(object client.Object, patch string) error {
		return operator.Patch(t.Context(), object.DeepCopyObject().(client.Object), client.RawPatch("application/strategic-merge-patch+json", []byte(patch)))
	}
	const image = `{"spec":{"containers":[{"name":"memcached","image":"memcached:2"}]}}`
	check(t, patch(mine, image), "")
	check(t, patch(foreign, image), "only its own objects")
	check(t, operator.Delete(t.Context(), foreign), "only its own objects")
	check(t, patch(theirs, `{"spec":{"template":{"spec":{"containers":[{"name":"memcached","image":"evil"}]}}}}`), "only its own objects")
	check(t, operator.Delete(t.Context(), theirs), "only its own objects")
	check(t, patch(old, `{"metadata":{"labels":{"a":"b"}},"spec":{"replicas":2}}`), "")
	check(t, patch(old, `{"spec":{"template":{"spec":{"containers":[{"name":"memcached","image":"memcached:2"}]}}}}`), "are not privileged")
	const addVolume = `{"spec":{"template":{"spec":{"volumes":[{"name":"%s","configMap":{"name":"a"}}]}}}}`
	grown := deployment("grown", false)
	for _, err := range []error{
		cluster.Client.Create(t.Context(), grown),
		cluster.Client.Patch(t.Context(), grown, client.RawPatch(types.StrategicMergePatchType, fmt.Appendf(nil, addVolume, "theirs"))),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	check(t, patch(grown, `{"spec":{"template":{"spec":{"containers":[{"name":"memcached","image":"memcached:2"}]}}}}`), "")
	check(t, patch(grown, fmt.Sprintf(addVolume, "more")), "only volumes of the kinds")
	check(t, operator.Delete(t.Context(), old), "")
	check(t, operator.Delete(t.Context(), mine), "")
}

func TestThePolicyForTheOperatorLimitsOtherObjects(t *testing.T) {
	namespace := cluster.Namespace(t)
	operator := as(t, namespace, "system:serviceaccount:memcached-operator-system:memcached-operator-controller-manager",
		rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"", "apps", "networking.k8s.io", "policy", "monitoring.coreos.com"}, Resources: []string{"*"}})
	options := envtest.CRDInstallOptions{Paths: []string{"monitoring/testdata/crds.yaml"}, ErrorIfPathMissing: true}
	if _, err := envtest.InstallCRDs(cluster.Config, options); err != nil {
		t.Fatal(err)
	}
	own := map[string]string{"app.kubernetes.io/managed-by": "memcached-operator", "app.kubernetes.io/instance": "cache"}
	memcached := testkit.MakeMemcached("cache").Namespace(namespace).Size(1).Obj()
	objects := func(name string, labels map[string]string, controlled bool) map[string]client.Object {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}
		if controlled {
			meta.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(memcached, v1alpha1.GroupVersion.WithKind(v1alpha1.MemcachedKind))}
		}
		return map[string]client.Object{
			"Secret":              &corev1.Secret{ObjectMeta: meta, Type: "servicebinding.io/memcached"},
			"ControllerRevision":  &appsv1.ControllerRevision{ObjectMeta: meta, Data: runtime.RawExtension{Raw: []byte("{}")}},
			"Service":             &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: "None", Selector: own}},
			"NetworkPolicy":       &networkingv1.NetworkPolicy{ObjectMeta: meta},
			"PodDisruptionBudget": &policyv1.PodDisruptionBudget{ObjectMeta: meta},
			"Ingress": &networkingv1.Ingress{ObjectMeta: meta, Spec: networkingv1.IngressSpec{
				DefaultBackend: &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}},
			}},
		}
	}
	workload := func(name string, labels map[string]string) *appsv1.StatefulSet {
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		set.Spec.Selector, set.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: labels}, labels
		set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "memcached", Image: "memcached:1"}}
		return set
	}
	foreign := objects("foreign", nil, false)
	scaled, database := workload("cache", own), workload("database", map[string]string{"app": "database"})
	for _, object := range append(slices.Collect(maps.Values(foreign)), memcached, scaled, database) {
		if err := cluster.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	token := &corev1.Secret{Type: corev1.SecretTypeServiceAccountToken, ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "token", Labels: own, Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"},
	}}
	applyPolicy(t, "operator.yaml", func(ctx context.Context) error { return operator.Create(ctx, token, client.DryRunAll) })

	check(t, operator.Create(t.Context(), token, client.DryRunAll), "only Secrets of the type servicebinding.io/memcached")
	check(t, operator.Create(t.Context(), objects("loose", own, false)["ControllerRevision"]), "only ControllerRevisions that a Memcached owns")
	label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"app.kubernetes.io/managed-by":"memcached-operator"}}}`))
	note := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`))
	service := objects("addressed", own, true)["Service"].(*corev1.Service)
	service.Spec.ExternalIPs = []string{"198.18.0.1"}
	check(t, operator.Create(t.Context(), service), "no external addresses")
	for kind, object := range objects("own", own, true) {
		t.Run(kind, func(t *testing.T) {
			check(t, operator.Create(t.Context(), object), "")
			check(t, operator.Patch(t.Context(), object, note), "")
			check(t, operator.Delete(t.Context(), object), "")
			check(t, operator.Patch(t.Context(), foreign[kind], label), "only its own objects")
			check(t, operator.Delete(t.Context(), foreign[kind]), "only its own objects")
		})
	}
	for says, endpoint := range map[string]map[string]any{"": {"port": "metrics"}, "give no credentials": {"port": "metrics", "bearerTokenFile": "/token"}} {
		monitor := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"selector": map[string]any{}, "endpoints": []any{endpoint}}}}
		monitor.SetGroupVersionKind(manifest.ServiceMonitorKind)
		monitor.SetNamespace(namespace)
		monitor.SetName("cache")
		check(t, operator.Create(t.Context(), monitor, client.DryRunAll), says)
	}
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
	check(t, operator.SubResource("scale").Update(t.Context(), scaled, client.WithSubResourceBody(scale.DeepCopy())), "")
	check(t, operator.SubResource("scale").Update(t.Context(), database, client.WithSubResourceBody(scale)), "only its own objects")
}

// Kubernetes tests its own pod security admission with these pods.
func TestThePolicyForTheOperatorKnowsWhatKubernetesRefuses(t *testing.T) {
	namespace := cluster.Namespace(t)
	operator := as(t, namespace, "system:serviceaccount:memcached-operator-system:memcached-operator-controller-manager", rule("create", "pods"))
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/pod-security-admission").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(folder)), "test/testdata/baseline/v1.34/fail/*.yaml"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	if err := cluster.Client.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	read := func(file string) *corev1.Pod {
		pod := &corev1.Pod{}
		raw, err := os.ReadFile(file)
		if err == nil {
			err = yaml.Unmarshal(raw, pod)
		}
		if err != nil {
			t.Fatal(err)
		}
		pod.Name = strings.ReplaceAll(pod.Name, "_", "-")
		pod.Namespace, pod.Spec.AutomountServiceAccountToken = namespace, ptr.To(false)
		return pod
	}
	applyPolicy(t, "operator.yaml", func(ctx context.Context) error { return operator.Create(ctx, read(files[0]), client.DryRunAll) })
	for _, file := range files {
		if err := operator.Create(t.Context(), read(file), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "memcached-operator-pods") {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
	}
}
