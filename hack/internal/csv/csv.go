// Package csv composes the ClusterServiceVersion, the object with which OLM installs the operator.
//
// What a catalog shows (description, icon, descriptors) and what OLM installs (Deployment, permissions) are Go values
// here. The CRDs and the rules of the permissions come from the caller. Package csv reads and writes no files other than
// those that it embeds.
package csv

import (
	_ "embed" // The description and the icon are files, so that people can preview them.
	"encoding/base64"
	"fmt"
	"time"

	"github.com/blang/semver/v4"
	opversion "github.com/operator-framework/api/pkg/lib/version"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/memcached-operator/hack/project"
)

//go:embed description.md
var description string

//go:embed icon.svg
var icon []byte

// Inputs is what a ClusterServiceVersion is composed from, beside the text in this package.
type Inputs struct {
	Pins
	Objects
	// Examples are custom resources, at least one for each kind and version of the CRDs. A console offers to create the
	// first one after the installation.
	Examples []unstructured.Unstructured
}

// Pins are the facts of a version that do not follow from its source.
type Pins struct {
	// Version is the semantic version, without a leading v.
	Version string
	// Replaces is the version that this one follows in the catalog, empty for the first.
	Replaces string
	// CreatedAt is the date of the release. It is the Unix epoch for an unreleased version.
	CreatedAt time.Time
	// OperatorImage and ScorecardImage are references, by digest in a release.
	OperatorImage, ScorecardImage string
}

// Objects is what the markers in the operator's source describe.
type Objects struct {
	// CRDs are the definitions that the operator owns, sorted by name.
	CRDs []apiextensionsv1.CustomResourceDefinition
	// ClusterRules apply to the whole cluster, NamespaceRules to the operator's own namespace.
	ClusterRules, NamespaceRules []rbacv1.PolicyRule
}

// Icon is the operator's icon, an SVG.
func Icon() []byte { return icon }

// Compose returns the ClusterServiceVersion. It fails if the version is invalid, if this package has no descriptors for
// a CRD, if there is no example, or if two have the same name.
func Compose(in Inputs) (*v1alpha1.ClusterServiceVersion, error) {
	version, err := semver.Parse(in.Version)
	if err != nil {
		return nil, fmt.Errorf("version %q is not a semantic version such as 1.2.3: %w", in.Version, err)
	}
	owned, err := ownedCRDs(in.CRDs)
	if err != nil {
		return nil, err
	}
	annotations, err := annotations(in)
	if err != nil {
		return nil, err
	}
	csv := &v1alpha1.ClusterServiceVersion{
		TypeMeta: metav1.TypeMeta{
			APIVersion: v1alpha1.ClusterServiceVersionAPIVersion, Kind: v1alpha1.ClusterServiceVersionKind,
		},
		ObjectMeta: metav1.ObjectMeta{
			Name:        project.CSVName(in.Version),
			Annotations: annotations,
			Labels: map[string]string{
				"operatorframework.io/arch." + arch: "supported",
				"operatorframework.io/os.linux":     "supported",
			},
		},
		Spec: presentation(),
	}
	csv.Spec.Version = opversion.OperatorVersion{Version: version}
	csv.Spec.InstallStrategy = v1alpha1.NamedInstallStrategy{
		StrategyName: v1alpha1.InstallStrategyNameDeployment, StrategySpec: strategy(in),
	}
	csv.Spec.CustomResourceDefinitions.Owned = owned
	csv.Spec.RelatedImages = relatedImages(in.OperatorImage)
	if in.Replaces != "" {
		csv.Spec.Replaces = project.CSVName(in.Replaces)
	}
	return csv, nil
}

// relatedImages are all images that a cluster may pull, for people who mirror them. The agent runs the operator's image.
func relatedImages(operator string) []v1alpha1.RelatedImage {
	related := []v1alpha1.RelatedImage{{Name: project.Container, Image: operator}}
	for _, operand := range project.Operands() {
		related = append(related, v1alpha1.RelatedImage{Name: operand.RelatedName(), Image: operand.Image})
	}
	return related
}

// presentation is the part of the spec that does not depend on the version: what a catalog shows, and the install modes.
func presentation() v1alpha1.ClusterServiceVersionSpec {
	return v1alpha1.ClusterServiceVersionSpec{
		DisplayName: "Memcached Operator",
		Description: description,
		Icon: []v1alpha1.Icon{{
			Data: base64.StdEncoding.EncodeToString(icon), MediaType: "image/svg+xml",
		}},
		Keywords: []string{"memcached", "cache", "key-value", "in-memory", "database", "application", "web", "service binding"},
		Links: []v1alpha1.AppLink{
			{Name: "Source and documentation", URL: project.SourceURL},
			{Name: "Memcached", URL: "https://memcached.org"},
		},
		Maintainers:    []v1alpha1.Maintainer{{Name: "Memcached Operator maintainers", Email: "maintainers@example.com"}},
		Provider:       v1alpha1.AppLink{Name: "Memcached Operator project", URL: project.SourceURL},
		Maturity:       "alpha",
		MinKubeVersion: project.MinKubeVersion,
		InstallModes: []v1alpha1.InstallMode{
			{Type: v1alpha1.InstallModeTypeOwnNamespace},
			{Type: v1alpha1.InstallModeTypeSingleNamespace},
			{Type: v1alpha1.InstallModeTypeMultiNamespace},
			{Type: v1alpha1.InstallModeTypeAllNamespaces, Supported: true},
		},
	}
}
