package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/operator-framework/api/pkg/manifests"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// readExamples returns the bundle's alm-examples: what its author offers users to start from.
func readExamples(dir string) ([]unstructured.Unstructured, error) {
	bundle, err := manifests.GetBundleFromDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the bundle in %s: %w", dir, err)
	}
	var objects []map[string]any
	if err := json.Unmarshal([]byte(bundle.CSV.Annotations["alm-examples"]), &objects); err != nil {
		return nil, fmt.Errorf("read the annotation alm-examples: %w", err)
	}
	if len(objects) == 0 {
		return nil, errors.New("alm-examples holds no example")
	}
	examples := make([]unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		examples = append(examples, unstructured.Unstructured{Object: object})
	}
	return examples, nil
}
