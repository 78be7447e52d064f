package csv_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/hack/internal/bundle"
	"github.com/example/memcached-operator/hack/internal/csv"
	"github.com/example/memcached-operator/hack/project"
)

const image = "quay.io/example/memcached-operator@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// source reads the markers of this checkout, once for all tests because it takes seconds.
var source = sync.OnceValues(func() (*csv.Objects, error) { return bundle.ReadMarkers("../../..", "./operator/...") })

func inputs(t *testing.T) csv.Inputs {
	t.Helper()
	objects, err := source()
	if err != nil {
		t.Fatal(err)
	}
	return csv.Inputs{
		Pins:    csv.Pins{Version: "0.3.0", Replaces: "0.2.0", CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), OperatorImage: image},
		Objects: *objects,
		Examples: []unstructured.Unstructured{
			example("cache.example.com/v1alpha1", "Memcached"), example("app.example.com/v1alpha1", "Application"),
		},
	}
}

func example(apiVersion, kind string) unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "x"}, "spec": map[string]any{"size": int64(1)},
	}}
}

func composed(t *testing.T) (*v1alpha1.ClusterServiceVersion, csv.Inputs) {
	t.Helper()
	in := inputs(t)
	out, err := csv.Compose(in)
	if err != nil {
		t.Fatal(err)
	}
	return out, in
}

// A tool that makes a catalog of bundles, such as the one of the community's catalog, reads the skipRange there. The first
// release has nothing to skip.
func TestTheSkipRangeIsThatOfTheCatalog(t *testing.T) {
	v, in := composed(t)
	if got := v.Annotations["olm.skipRange"]; got != ">=0.1.0 <0.3.0" {
		t.Errorf("it is %q", got)
	}
	in.Replaces = ""
	first, err := csv.Compose(in)
	if err != nil {
		t.Fatal(err)
	}
	if got, there := first.Annotations["olm.skipRange"]; there {
		t.Errorf("that of the first release is %q", got)
	}
}

func TestAnnotationsOfCatalogsAreSet(t *testing.T) {
	v, _ := composed(t)
	names := []string{
		"alm-examples", "capabilities", "categories", "containerImage", "createdAt", "description", "repository", "support",
		"console.openshift.io/disable-operand-delete", "operator.openshift.io/uninstall-message",
		"operatorframework.io/initialization-resource", "operatorframework.io/suggested-namespace-template",
	}
	for _, feature := range []string{
		"disconnected", "fips-compliant", "proxy-aware", "tls-profiles", "token-auth-aws", "token-auth-azure", "token-auth-gcp",
		"cnf", "cni", "csi",
	} {
		name := "features.operators.openshift.io/" + feature
		names = append(names, name)
		if value := v.Annotations[name]; value != "true" && value != "false" {
			t.Errorf("annotation %s is %q, want true or false", name, value)
		}
	}
	for _, name := range names {
		if v.Annotations[name] == "" {
			t.Errorf("annotation %s is missing", name)
		}
	}
	for _, name := range []string{"olm.properties", "operatorframework.io/suggested-namespace"} {
		if _, ok := v.Annotations[name]; ok {
			t.Errorf("annotation %s must not be there", name)
		}
	}
	if got := v.Annotations["containerImage"]; got != image {
		t.Errorf("containerImage is %s", got)
	}
}

func TestSuggestedNamespaceIsRestricted(t *testing.T) {
	v, _ := composed(t)
	var namespace unstructured.Unstructured
	if err := json.Unmarshal([]byte(v.Annotations["operatorframework.io/suggested-namespace-template"]), &namespace.Object); err != nil {
		t.Fatal(err)
	}
	if namespace.GetKind() != "Namespace" || namespace.GetName() != project.Namespace {
		t.Errorf("the template is %s %s", namespace.GetKind(), namespace.GetName())
	}
	for _, mode := range []string{"enforce", "audit", "warn"} {
		if got := namespace.GetLabels()["pod-security.kubernetes.io/"+mode]; got != "restricted" {
			t.Errorf("pod security %s is %q", mode, got)
		}
	}
}

func TestPresentationIsComplete(t *testing.T) {
	v, _ := composed(t)
	if n := len(v.Spec.DisplayName); n < 3 || n > 50 {
		t.Errorf("the display name has %d characters", n)
	}
	if !strings.Contains(v.Spec.Description, "## Upgrade notes") || !strings.Contains(v.Spec.Description, "## Use") {
		t.Error("the description lacks how to use the operator, or the upgrade notes")
	}
	if len(v.Spec.Keywords) == 0 || len(v.Spec.Links) == 0 || len(v.Spec.Maintainers) == 0 || v.Spec.Provider.Name == "" || v.Spec.Maturity == "" {
		t.Error("keywords, links, maintainers, provider or maturity is missing")
	}
	if len(v.Spec.Icon) != 1 || v.Spec.Icon[0].MediaType != "image/svg+xml" {
		t.Fatalf("the icon is %v", v.Spec.Icon)
	}
	svg, err := base64.StdEncoding.DecodeString(v.Spec.Icon[0].Data)
	if err != nil || !strings.HasPrefix(string(svg), "<svg ") {
		t.Errorf("the icon is not an SVG: %v", err)
	}
}

func TestInstallModeIsAllNamespacesOnly(t *testing.T) {
	v, _ := composed(t)
	supported := map[v1alpha1.InstallModeType]bool{}
	for _, mode := range v.Spec.InstallModes {
		supported[mode.Type] = mode.Supported
	}
	want := map[v1alpha1.InstallModeType]bool{"OwnNamespace": false, "SingleNamespace": false, "MultiNamespace": false, "AllNamespaces": true}
	if diff := cmp.Diff(want, supported); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNameVersionAndReplacesAgree(t *testing.T) {
	v, in := composed(t)
	if v.Name != "memcached-operator.v0.3.0" || v.Spec.Version.String() != in.Version || v.Spec.Replaces != "memcached-operator.v0.2.0" {
		t.Errorf("name %s, version %s, replaces %s", v.Name, v.Spec.Version, v.Spec.Replaces)
	}
	if v.Spec.MinKubeVersion == "" || v.Labels["operatorframework.io/arch.amd64"] != "supported" || v.Labels["operatorframework.io/os.linux"] != "supported" {
		t.Errorf("minKubeVersion %q, labels %v", v.Spec.MinKubeVersion, v.Labels)
	}
}

func TestPodsAreRestrictedAndRequestResources(t *testing.T) {
	v, _ := composed(t)
	for _, d := range v.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		pod := d.Spec.Template.Spec
		if pod.ServiceAccountName == v.Name {
			t.Error("the ServiceAccount has the name of the ClusterServiceVersion")
		}
		if !*pod.SecurityContext.RunAsNonRoot || pod.SecurityContext.SeccompProfile.Type != "RuntimeDefault" {
			t.Error("the pod may run as root, or without seccomp")
		}
		for _, c := range pod.Containers {
			s := c.SecurityContext
			if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
				t.Errorf("container %s is not restricted: %v", c.Name, s)
			}
			if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() {
				t.Errorf("container %s does not request CPU and memory", c.Name)
			}
			if c.LivenessProbe == nil || c.ReadinessProbe == nil {
				t.Errorf("container %s is not probed", c.Name)
			}
		}
	}
}

// A console shows fields by their descriptors, and hides a field that has none.
func TestEveryFieldHasADescriptor(t *testing.T) {
	v, in := composed(t)
	if owned := len(v.Spec.CustomResourceDefinitions.Owned); owned != len(in.Examples) {
		t.Errorf("%d kinds are owned, want the %d that have examples", owned, len(in.Examples))
	}
	for _, owned := range v.Spec.CustomResourceDefinitions.Owned {
		if owned.DisplayName == "" || owned.Description == "" || len(owned.Resources) == 0 {
			t.Errorf("%s lacks a display name, a description or resources", owned.Name)
		}
		var spec, status []string
		for _, d := range owned.SpecDescriptors {
			spec = append(spec, d.Path)
			if d.DisplayName == "" || d.Description == "" || len(d.XDescriptors) == 0 {
				t.Errorf("%s: the descriptor of spec.%s is incomplete", owned.Name, d.Path)
			}
		}
		for _, d := range owned.StatusDescriptors {
			status = append(status, d.Path)
			if d.DisplayName == "" || d.Description == "" || len(d.XDescriptors) == 0 {
				t.Errorf("%s: the descriptor of status.%s is incomplete", owned.Name, d.Path)
			}
		}
		schema := schemaOf(t, in.CRDs, owned)
		for part, paths := range map[string][]string{"spec": spec, "status": status} {
			if diff := cmp.Diff(fields(schema.Properties[part], "", paths), sorted(paths)); diff != "" {
				t.Errorf("%s: %s, -schema +descriptors:\n%s", owned.Name, part, diff)
			}
		}
	}
}

func schemaOf(t *testing.T, crds []apiextensionsv1.CustomResourceDefinition, owned v1alpha1.CRDDescription) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			if crd.Name == owned.Name && version.Name == owned.Version {
				return version.Schema.OpenAPIV3Schema
			}
		}
	}
	t.Fatalf("%s %s has no definition", owned.Name, owned.Version)
	return nil
}

// fields are the paths that need descriptors. If one field of a structure has a descriptor, all its fields need one, and
// the structure itself does not.
func fields(schema apiextensionsv1.JSONSchemaProps, parent string, described []string) []string {
	var paths []string
	for name, field := range schema.Properties {
		path := parent + name
		inside := slices.ContainsFunc(described, func(d string) bool { return strings.HasPrefix(d, path+".") })
		if inside {
			paths = append(paths, fields(field, path+".", described)...)
		}
		if !inside || slices.Contains(described, path) {
			paths = append(paths, path)
		}
	}
	return sorted(paths)
}

// A console offers to create this resource right after the installation.
func TestInitializationResourceIsTheFirstExample(t *testing.T) {
	v, in := composed(t)
	var first unstructured.Unstructured
	if err := first.UnmarshalJSON([]byte(v.Annotations["operatorframework.io/initialization-resource"])); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in.Examples[0].Object, first.Object); diff != "" {
		t.Errorf("-first example +initialization resource:\n%s", diff)
	}
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

func TestPermissionsAreThoseOfTheMarkers(t *testing.T) {
	v, in := composed(t)
	strategy := v.Spec.InstallStrategy.StrategySpec
	for name, got := range map[string]struct {
		permissions []v1alpha1.StrategyDeploymentPermissions
		want        []rbacv1.PolicyRule
	}{"cluster": {strategy.ClusterPermissions, in.ClusterRules}, "namespace": {strategy.Permissions, in.NamespaceRules}} {
		if len(got.permissions) != 1 || got.permissions[0].ServiceAccountName != project.Deployment {
			t.Fatalf("%s permissions: %v", name, got.permissions)
		}
		if diff := cmp.Diff(got.want, got.permissions[0].Rules); diff != "" {
			t.Errorf("%s permissions, -markers +got:\n%s", name, diff)
		}
		for _, rule := range got.permissions[0].Rules {
			if slices.Contains(append(append(rule.Verbs, rule.Resources...), rule.APIGroups...), "*") {
				t.Errorf("%s permission with a wildcard: %v", name, rule)
			}
		}
	}
}

func TestComposeRefusesInvalidInputs(t *testing.T) {
	good := inputs(t)
	for name, test := range map[string]struct {
		spoil func(*csv.Inputs)
		want  string
	}{
		"a version with a leading v": {func(in *csv.Inputs) { in.Version = "v1.0.0" }, "semantic version"},
		"no example":                 {func(in *csv.Inputs) { in.Examples = nil }, "no example"},
		"two examples of one name":   {func(in *csv.Inputs) { in.Examples = append(in.Examples, in.Examples[0]) }, "two examples cache.example.com/v1alpha1 Memcached x"},
		"a kind without descriptors": {func(in *csv.Inputs) {
			in.CRDs = slices.Clone(in.CRDs)
			in.CRDs[0].Spec.Names.Kind = "Teapot"
		}, "no descriptors"},
	} {
		t.Run(name, func(t *testing.T) {
			in := good
			in.Examples = slices.Clone(good.Examples)
			test.spoil(&in)
			if _, err := csv.Compose(in); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}
