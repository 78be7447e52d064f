package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// unsetFields are fields that a typed object encodes as {} or null although nobody set them.
var unsetFields = map[string]bool{
	"apiservicedefinitions": true,
	"cleanup":               true,
	"creationTimestamp":     true,
	"mountPath":             true,
	"resources":             true,
	"storage":               true,
	"strategy":              true,
}

// Encode returns a Kubernetes object as YAML for people to review: with sorted keys, without status and without the
// empty fields of Go types. Encoding the same object twice gives the same bytes.
func Encode(object any) ([]byte, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", object, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // A float64 would round large integers.
	var tree map[string]any
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("decode %T: %w", object, err)
	}
	delete(tree, "status")
	prune(tree)
	out, err := yaml.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("encode %v %v: %w", tree["kind"], tree["metadata"], err)
	}
	return out, nil
}

// prune removes nulls and empty unset fields. It prunes the content of a field first, because that may empty it.
func prune(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			prune(child)
			if child == nil || unsetFields[key] && isEmpty(child) {
				delete(v, key)
			}
		}
	case []any:
		for _, child := range v {
			prune(child)
		}
	}
}

// isEmpty reports whether a map has no fields, or only fields that are false or empty.
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
