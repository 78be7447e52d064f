package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/operator-framework/api/pkg/manifests"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// readExamples returns the caches among the bundle's alm-examples: what its author offers users to start from.
func readExamples(dir string) ([]unstructured.Unstructured, error) {
	bundle, err := manifests.GetBundleFromDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the bundle in %s: %w", dir, err)
	}
	var objects []map[string]any
	if err := json.Unmarshal([]byte(bundle.CSV.Annotations["alm-examples"]), &objects); err != nil {
		return nil, fmt.Errorf("read the annotation alm-examples: %w", err)
	}
	var caches []unstructured.Unstructured
	for _, object := range objects {
		if example := (unstructured.Unstructured{Object: object}); example.GetKind() == "Memcached" {
			caches = append(caches, example)
		}
	}
	if len(caches) == 0 {
		return nil, errors.New("alm-examples holds no Memcached")
	}
	return caches, nil
}
