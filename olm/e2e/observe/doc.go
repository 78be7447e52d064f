// Package observe records what must not change, or only within limits, while something happens to the operator or a cache: the
// readiness of pods, users' resources, and what the operator created for them.
package observe
