// Package markers turns the Go source of the operator into the Kubernetes objects that its markers describe: custom
// resource definitions from the API types, permissions from +kubebuilder:rbac lines.
//
// It runs controller-tools as a library, in memory. What is done with the objects is not its business.
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
)

// Objects is what the markers of the source describe.
type Objects struct {
	// CRDs are sorted by name.
	CRDs []apiextensionsv1.CustomResourceDefinition
	// ClusterRules hold for the whole cluster, NamespaceRules for the operator's own namespace.
	ClusterRules, NamespaceRules []rbacv1.PolicyRule
}

// ReadMarkers reads the packages below dir that match the patterns (as the go command takes them, such as
// ./operator/...). A mistake in a marker is returned with its position.
func ReadMarkers(dir string, patterns ...string) (*Objects, error) {
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
	out := &Objects{}
	if out.CRDs, err = parseCRDs(crds); err != nil {
		return nil, err
	}
	if err := out.addRules(roles); err != nil {
		return nil, err
	}
	if len(out.CRDs) == 0 {
		return nil, fmt.Errorf("no API type found in %s", strings.Join(patterns, " "))
	}
	return out, nil
}

func parseCRDs(files memory) ([]apiextensionsv1.CustomResourceDefinition, error) {
	var crds []apiextensionsv1.CustomResourceDefinition
	for name, content := range files {
		var parsed apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(content.Bytes(), &parsed); err != nil {
			return nil, fmt.Errorf("parse the generated %s: %w", name, err)
		}
		// The version of the generator is pinned in go.mod; naming it here would change the bundle for nothing.
		delete(parsed.Annotations, "controller-gen.kubebuilder.io/version")
		crds = append(crds, parsed)
	}
	slices.SortFunc(crds, func(a, b apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	return crds, nil
}

func (o *Objects) addRules(files memory) error {
	for name, content := range files {
		for document := range strings.SplitSeq(content.String(), "\n---\n") {
			var role rbacv1.Role // A ClusterRole differs in its kind and in fields that are not generated.
			if err := yaml.Unmarshal([]byte(document), &role); err != nil {
				return fmt.Errorf("parse the generated %s: %w", name, err)
			}
			switch {
			case role.Kind == "ClusterRole":
				o.ClusterRules = append(o.ClusterRules, role.Rules...)
			case role.Kind == "Role":
				o.NamespaceRules = append(o.NamespaceRules, role.Rules...)
			case len(role.Rules) > 0:
				return fmt.Errorf("the generated %s has a %q, which nobody expects", name, role.Kind)
			}
		}
	}
	if len(o.ClusterRules)+len(o.NamespaceRules) == 0 {
		return errors.New("no +kubebuilder:rbac marker found: an operator without permissions cannot work")
	}
	return nil
}

// memory keeps what a generator writes, by file name.
type memory map[string]*bytes.Buffer

// Open implements genall.OutputRule.
func (m memory) Open(_ *loader.Package, path string) (io.WriteCloser, error) {
	m[path] = &bytes.Buffer{}
	return nopCloser{m[path]}, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
