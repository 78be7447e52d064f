// Package observe looks at what must not change, or not too much, while something happens to the operator or a cache: the
// readiness of pods, users' resources, and what the operator made for them.
package observe
