package bundle

import (
	"strings"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/example/memcached-operator/hack/internal/csv"
	"github.com/example/memcached-operator/hack/project"
)

// labels describe the bundle in metadata/annotations.yaml and in the labels of its image. bundle.Dockerfile repeats
// them, and a test compares the two.
func labels() map[string]string {
	return map[string]string{
		"operators.operatorframework.io.bundle.mediatype.v1":       "registry+v1",
		"operators.operatorframework.io.bundle.manifests.v1":       "manifests/",
		"operators.operatorframework.io.bundle.metadata.v1":        "metadata/",
		"operators.operatorframework.io.bundle.package.v1":         project.Package,
		"operators.operatorframework.io.bundle.channels.v1":        project.Channels,
		"operators.operatorframework.io.bundle.channel.default.v1": project.DefaultChannel,
		"operators.operatorframework.io.test.mediatype.v1":         "scorecard+v1",
		"operators.operatorframework.io.test.config.v1":            "tests/scorecard/",
	}
}

// metricsService is the Service of the operator's metrics endpoint. A ServiceMonitor selects it by its labels.
func metricsService() corev1.Service {
	return corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: project.MetricsService, Labels: csv.ManagerLabels()},
		Spec: corev1.ServiceSpec{
			Selector: csv.ManagerLabels(),
			Ports: []corev1.ServicePort{{
				Name: "https", Port: project.MetricsPort, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("https"),
			}},
		},
	}
}

// metricsReader may read the metrics endpoint.
func metricsReader() rbacv1.ClusterRole {
	return role("metrics-reader", nil, rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}})
}

// editor may edit objects of the CRD. Kubernetes adds it to the roles admin and edit.
func editor(crd apiextensionsv1.CustomResourceDefinition) rbacv1.ClusterRole {
	change := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	return role(strings.ToLower(crd.Spec.Names.Kind)+"-editor-role", []string{"admin", "edit"},
		rule(crd, change, ""), rule(crd, []string{"get", "patch", "update"}, "/scale"), rule(crd, []string{"get"}, "/status"))
}

// viewer may read objects of the CRD. Kubernetes adds it to the role view.
func viewer(crd apiextensionsv1.CustomResourceDefinition) rbacv1.ClusterRole {
	return role(strings.ToLower(crd.Spec.Names.Kind)+"-viewer-role", []string{"view"},
		rule(crd, []string{"get", "list", "watch"}, ""), rule(crd, []string{"get"}, "/scale", "/status"))
}

func rule(crd apiextensionsv1.CustomResourceDefinition, verbs []string, subresources ...string) rbacv1.PolicyRule {
	for i, subresource := range subresources {
		subresources[i] = crd.Spec.Names.Plural + subresource
	}
	return rbacv1.PolicyRule{APIGroups: []string{crd.Spec.Group}, Resources: subresources, Verbs: verbs}
}

func role(suffix string, aggregateTo []string, rules ...rbacv1.PolicyRule) rbacv1.ClusterRole {
	role := rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: project.Package + "-" + suffix},
		Rules:      rules,
	}
	for _, to := range aggregateTo {
		metav1.SetMetaDataLabel(&role.ObjectMeta, "rbac.authorization.k8s.io/aggregate-to-"+to, "true")
	}
	return role
}

// scorecard configures `operator-sdk scorecard`: the built-in tests, then the project's own.
func scorecard(image string) v1alpha3.Configuration {
	builtIn := func(suite, name string) v1alpha3.TestConfiguration {
		return v1alpha3.TestConfiguration{
			Image: project.ScorecardTestImage, Entrypoint: []string{"scorecard-test", name},
			Labels: map[string]string{"suite": suite, "test": name + "-test"},
		}
	}
	config := v1alpha3.Configuration{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha3.GroupVersion.String(), Kind: v1alpha3.ConfigurationKind},
		Stages: []v1alpha3.StageConfiguration{
			{Parallel: true, Tests: []v1alpha3.TestConfiguration{
				builtIn("basic", "basic-check-spec"),
				builtIn("olm", "olm-bundle-validation"),
				builtIn("olm", "olm-crds-have-validation"),
				builtIn("olm", "olm-crds-have-resources"),
				builtIn("olm", "olm-spec-descriptors"),
				builtIn("olm", "olm-status-descriptors"),
			}},
			{Tests: []v1alpha3.TestConfiguration{{
				Image: image, Entrypoint: []string{"/scorecard", "user-walk"},
				Labels: map[string]string{"suite": "custom", "test": "user-walk-test"},
			}}},
		},
	}
	config.Metadata.Name = "config"
	return config
}
