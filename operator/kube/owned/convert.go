package owned

import "encoding/json"

// Overlay sets every field of base that wish sets, and leaves the others. Lists are replaced. wish is of the API type
// that base is the apply configuration of: both are the same JSON, so nothing can go wrong; if it did, what was not
// understood would be left out.
func Overlay[T any](base *T, wish any) *T {
	if raw, err := json.Marshal(wish); err == nil {
		_ = json.Unmarshal(raw, base)
	}
	return base
}

// Convert returns the apply configuration of an object of the API, or the object of an apply configuration.
func Convert[T any](object any) *T { return Overlay(new(T), object) }
