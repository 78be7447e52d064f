package change

import (
	"context"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/crdify/pkg/validations"
)

// Admit returns an error if a cluster with this CRD would not accept the object as it is: if its version is not served, if
// it has a field that the API server would drop, or if it violates the schema or a rule.
func Admit(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, object *unstructured.Unstructured) error {
	name := object.GroupVersionKind().Version
	version := validations.GetCRDVersionByName(crd, name)
	if version == nil || !version.Served {
		return fmt.Errorf("version %s of %s is not served", name, crd.Name)
	}
	served, err := served(crd, version, object)
	if err != nil {
		return err
	}
	structural, err := structural(version)
	if err != nil {
		return err
	}
	unknown := pruning.PruneWithOptions(served.DeepCopy().Object, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if len(unknown) > 0 {
		return fmt.Errorf("unknown field %s", strings.Join(unknown, ", "))
	}
	if err := validate(version, served); err != nil {
		return err
	}
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	broken, _ := rules.Validate(ctx, nil, structural, served.Object, nil, celconfig.RuntimeCELCostBudget)
	if err := broken.ToAggregate(); err != nil {
		return fmt.Errorf("a rule is broken: %w", err)
	}
	return nil
}
