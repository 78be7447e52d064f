// Package manifest writes Kubernetes objects as the YAML that people review: sorted keys, no status, none of the
// empty fields that Go types leave behind. It knows nothing about any kind of object in particular.
package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// emptyNoise are fields that a typed object writes as {} or null although nobody set them.
var emptyNoise = map[string]bool{
	"apiservicedefinitions": true,
	"cleanup":               true,
	"creationTimestamp":     true,
	"mountPath":             true,
	"resources":             true,
	"storage":               true,
	"strategy":              true,
}

// Encode returns the object as YAML that ends in a newline. Encoding the same object twice gives the same bytes.
func Encode(object any) ([]byte, error) {
	tree, err := Tree(object)
	if err != nil {
		return nil, err
	}
	out, err := yaml.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("encode %v %v: %w", tree["kind"], tree["metadata"], err)
	}
	return out, nil
}

// Tree returns the object as the maps and slices that Encode writes.
func Tree(object any) (map[string]any, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", object, err)
	}
	// Numbers stay as they are written: an int64 does not survive the way through a float64.
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var tree map[string]any
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("decode %T: %w", object, err)
	}
	delete(tree, "status")
	prune(tree)
	return tree, nil
}

// prune removes nulls and empty noise, deepest first, so that a map emptied by it is seen to be empty.
func prune(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			prune(child)
			if child == nil || emptyNoise[key] && isEmpty(child) {
				delete(v, key)
			}
		}
	case []any:
		for _, child := range v {
			prune(child)
		}
	}
}

// isEmpty says whether nothing was set: no field at all, or only ones that are false or empty themselves.
func isEmpty(value any) bool {
	fields, ok := value.(map[string]any)
	if !ok {
		return false
	}
	for _, v := range fields {
		if v != false && !isEmpty(v) {
			return false
		}
	}
	return true
}
