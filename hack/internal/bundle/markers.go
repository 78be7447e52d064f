package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/rbac"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/hack/internal/csv"
)

// ReadMarkers runs controller-gen in memory on the Go packages below dir that match the patterns, such as
// ./operator/.... It returns the CRDs of the API types, sorted by name, and the rules of the +kubebuilder:rbac markers.
// An error in a marker is returned with its position.
func ReadMarkers(dir string, patterns ...string) (*csv.Objects, error) {
	crds, roles := memory{}, memory{}
	var crdGenerator genall.Generator = crd.Generator{}
	var rbacGenerator genall.Generator = rbac.Generator{RoleName: "manager"}
	generators := genall.Generators{&crdGenerator, &rbacGenerator}
	runtime, err := generators.ForRootsWithConfig(&packages.Config{Dir: dir}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", strings.Join(patterns, " "), err)
	}
	var complaints bytes.Buffer
	runtime.ErrorWriter = &complaints
	runtime.OutputRules = genall.OutputRules{
		Default:     genall.OutputToNothing,
		ByGenerator: map[*genall.Generator]genall.OutputRule{&crdGenerator: crds, &rbacGenerator: roles},
	}
	if failed := runtime.Run(); failed {
		return nil, fmt.Errorf("read the markers of %s: %s", strings.Join(patterns, " "), strings.TrimSpace(complaints.String()))
	}
	out := &csv.Objects{}
	if err := errors.Join(addCRDs(out, crds), addRules(out, roles)); err != nil {
		return nil, err
	}
	if len(out.CRDs) == 0 {
		return nil, fmt.Errorf("no API type found in %s", strings.Join(patterns, " "))
	}
	return out, nil
}

func addCRDs(out *csv.Objects, files memory) error {
	for name, content := range files {
		var parsed apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(content.Bytes(), &parsed); err != nil {
			return fmt.Errorf("parse the generated %s: %w", name, err)
		}
		// go.mod pins the generator. With its version here, an update of the generator alone would change the bundle.
		delete(parsed.Annotations, "controller-gen.kubebuilder.io/version")
		out.CRDs = append(out.CRDs, parsed)
	}
	slices.SortFunc(out.CRDs, func(a, b apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

func addRules(out *csv.Objects, files memory) error {
	for name, content := range files {
		for document := range strings.SplitSeq(content.String(), "\n---\n") {
			var role rbacv1.Role // A ClusterRole only differs in its kind and in fields that are not generated.
			if err := yaml.Unmarshal([]byte(document), &role); err != nil {
				return fmt.Errorf("parse the generated %s: %w", name, err)
			}
			switch {
			case role.Kind == "ClusterRole":
				out.ClusterRules = append(out.ClusterRules, role.Rules...)
			case role.Kind == "Role":
				out.NamespaceRules = append(out.NamespaceRules, role.Rules...)
			case len(role.Rules) > 0:
				return fmt.Errorf("the generated %s has the unexpected kind %q", name, role.Kind)
			}
		}
	}
	if len(out.ClusterRules)+len(out.NamespaceRules) == 0 {
		return errors.New("no +kubebuilder:rbac marker found: an operator without permissions cannot work")
	}
	return nil
}

// memory holds the output of a generator, by file name.
type memory map[string]*bytes.Buffer

// Open implements genall.OutputRule.
func (m memory) Open(_ *loader.Package, path string) (io.WriteCloser, error) {
	m[path] = &bytes.Buffer{}
	return nopCloser{m[path]}, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
