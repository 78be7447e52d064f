package diff

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// defaults are those that the API server sets in the parts of a pod template that a release has rendered, by the names of the fields
// (k8s.io/kubernetes, pkg/apis/core/v1/defaults.go).
var defaults = map[string]string{
	"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler", "securityContext": "{}",
	"terminationGracePeriodSeconds": "30", "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
	"protocol": "TCP", "timeoutSeconds": "1", "periodSeconds": "10", "successThreshold": "1", "failureThreshold": "3", "defaultMode": "420",
}

// flatten adds the values below a path to flat. A path names an element of a list by the element's name, if it has one: for example
// "spec.containers[memcached].ports[memcached].containerPort". Defaults of the API server are left out, so that a rendered template can
// be compared with a stored one.
func flatten(flat map[string]string, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			set(flat, path, "{}") // An empty object has a meaning, as in "emptyDir: {}".
		}
		for key, child := range value {
			flatten(flat, path+"."+key, child)
		}
	case []any:
		for i, element := range value {
			flatten(flat, fmt.Sprintf("%s[%s]", path, nameOf(element, i)), element)
		}
	case nil: // The API server writes null for a field that is not set.
	default:
		set(flat, path, fmt.Sprint(value))
	}
}

func set(flat map[string]string, path, value string) {
	if defaults[path[strings.LastIndex(path, ".")+1:]] != value {
		flat[path] = value
	}
}

func nameOf(element any, i int) string {
	if object, isObject := element.(map[string]any); isObject {
		if name, isText := object["name"].(string); isText {
			return name
		}
	}
	return fmt.Sprint(i)
}

// pullPolicy returns the default for an image: Always for the tag "latest" and for an image without tag and digest, otherwise
// IfNotPresent.
func pullPolicy(image string) corev1.PullPolicy {
	name := image[strings.LastIndex(image, "/")+1:]
	if !strings.Contains(name, "@") && (!strings.Contains(name, ":") || strings.HasSuffix(name, ":latest")) {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}
