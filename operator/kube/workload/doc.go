// Package rollout says how far a Deployment or StatefulSet is with its pods. It is pure, and the one place that knows what
// "done" means: watches, the status and the operator's own condition must not disagree on it.
package workload
