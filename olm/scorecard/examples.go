package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/operator-framework/api/pkg/manifests"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// readExamples returns the examples for users in the bundle's annotation alm-examples.
func readExamples(dir string) ([]unstructured.Unstructured, error) {
	bundle, err := manifests.GetBundleFromDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the bundle in %s: %w", dir, err)
	}
	var examples []unstructured.Unstructured
	if err := json.Unmarshal([]byte(bundle.CSV.Annotations["alm-examples"]), &examples); err != nil {
		return nil, fmt.Errorf("read the annotation alm-examples: %w", err)
	}
	if len(examples) == 0 {
		return nil, errors.New("alm-examples holds no example")
	}
	return examples, nil
}
