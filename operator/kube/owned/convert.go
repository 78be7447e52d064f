package owned

import "encoding/json"

// Overlay sets every field of base that wish sets, and leaves the others. Lists are replaced. wish must be of the API
// type that base is the apply configuration of: both have the same JSON form, so the conversion cannot fail.
func Overlay[T any](base *T, wish any) *T {
	if raw, err := json.Marshal(wish); err == nil {
		_ = json.Unmarshal(raw, base)
	}
	return base
}

// Convert returns the apply configuration of an API object, or the API object of an apply configuration.
func Convert[T any](object any) *T { return Overlay(new(T), object) }
