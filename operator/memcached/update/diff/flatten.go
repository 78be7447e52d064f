package diff

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// flatten returns the values in a pod template by path. The path names an element of a list by the element's name, if it has
// one: for example "spec.containers[memcached].ports[memcached].containerPort".
func flatten(template *corev1.PodTemplateSpec) (map[string]string, error) {
	raw, err := json.Marshal(template)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, err
	}
	flat := map[string]string{}
	return flat, collect(flat, "", tree)
}

func collect(flat map[string]string, path string, value any) error {
	switch value := value.(type) {
	case map[string]any:
		return collectMap(flat, path, value)
	case []any:
		for i, element := range value {
			if err := collect(flat, fmt.Sprintf("%s[%s]", path, nameOf(element, i)), element); err != nil {
				return err
			}
		}
		return nil
	case string:
		flat[path] = value
		return nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	// The API server writes null for a field that is not set, such as creationTimestamp.
	if string(raw) != "null" {
		flat[path] = string(raw)
	}
	return nil
}

func collectMap(flat map[string]string, path string, value map[string]any) error {
	// An empty object has a meaning, as in "emptyDir: {}".
	if len(value) == 0 && path != "metadata" {
		flat[path] = "{}"
	}
	for key, child := range value {
		below := key
		if path != "" {
			below = path + "." + key
		}
		if err := collect(flat, below, child); err != nil {
			return err
		}
	}
	return nil
}

func nameOf(element any, i int) string {
	if object, isObject := element.(map[string]any); isObject {
		if name, isText := object["name"].(string); isText {
			return name
		}
	}
	return fmt.Sprint(i)
}
