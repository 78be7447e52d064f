package bundle

import (
	"fmt"
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

const (
	rbacVersion   = "rbac.authorization.k8s.io/v1"
	aggregateTo   = "rbac.authorization.k8s.io/aggregate-to-"
	scorecardPath = "tests/scorecard/"
)

// Labels are what a bundle says of itself, in metadata/annotations.yaml and as labels of its image
// (bundle.Dockerfile repeats them; a test compares the two).
func Labels() map[string]string {
	return map[string]string{
		"operators.operatorframework.io.bundle.mediatype.v1":       "registry+v1",
		"operators.operatorframework.io.bundle.manifests.v1":       "manifests/",
		"operators.operatorframework.io.bundle.metadata.v1":        "metadata/",
		"operators.operatorframework.io.bundle.package.v1":         project.Package,
		"operators.operatorframework.io.bundle.channels.v1":        project.Channels,
		"operators.operatorframework.io.bundle.channel.default.v1": project.DefaultChannel,
		"operators.operatorframework.io.test.mediatype.v1":         "scorecard+v1",
		"operators.operatorframework.io.test.config.v1":            scorecardPath,
	}
}

// metricsService is in front of the manager's metrics endpoint. Its labels are for a ServiceMonitor to select.
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

// metricsReader is what somebody needs to be let in by the metrics endpoint.
func metricsReader() rbacv1.ClusterRole {
	return clusterRole("metrics-reader", nil, rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}})
}

// roles lets those who may edit, or view, a namespace do so with a kind of ours too: they are aggregated to the
// roles that every cluster has.
func roles(crd apiextensionsv1.CustomResourceDefinition) (editor, viewer rbacv1.ClusterRole) {
	rule := func(verbs []string, resources ...string) rbacv1.PolicyRule {
		for i, r := range resources {
			resources[i] = crd.Spec.Names.Plural + r
		}
		return rbacv1.PolicyRule{APIGroups: []string{crd.Spec.Group}, Resources: resources, Verbs: verbs}
	}
	read := []string{"get", "list", "watch"}
	change := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	name := strings.ToLower(crd.Spec.Names.Kind)
	editor = clusterRole(name+"-editor-role", []string{"admin", "edit"},
		rule(change, ""), rule([]string{"get", "patch", "update"}, "/scale"), rule([]string{"get"}, "/status"))
	viewer = clusterRole(name+"-viewer-role", []string{"view"},
		rule(read, ""), rule([]string{"get"}, "/scale", "/status"))
	return editor, viewer
}

func clusterRole(suffix string, aggregate []string, rules ...rbacv1.PolicyRule) rbacv1.ClusterRole {
	role := rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacVersion, Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: project.Package + "-" + suffix},
		Rules:      rules,
	}
	for _, to := range aggregate {
		metav1.SetMetaDataLabel(&role.ObjectMeta, aggregateTo+to, "true")
	}
	return role
}

func roleFile(role rbacv1.ClusterRole) string {
	return fmt.Sprintf("manifests/%s_rbac.authorization.k8s.io_v1_clusterrole.yaml", role.Name)
}

// scorecard configures `operator-sdk scorecard`: the built-in tests, then ours, which does what a user does.
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
