package inputs

import (
	"slices"
	"strings"
)

// AllowedAnnotations are the annotations that users may give a Service: keys, and beginnings of keys that end in "/" or "*". Nil allows
// all of them, an empty list none.
type AllowedAnnotations []string

// Allow reports whether users may use a key.
func (a AllowedAnnotations) Allow(key string) bool {
	return a == nil || slices.ContainsFunc(a, func(allowed string) bool {
		beginning, cut := strings.CutSuffix(allowed, "*")
		return key == allowed || (cut || strings.HasSuffix(allowed, "/")) && strings.HasPrefix(key, beginning)
	})
}
