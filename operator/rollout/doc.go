// Package rollout says how far the Deployment controller is with a Deployment. It is pure, and the one place that knows
// what "done" means: watches, the status and the operator's own condition must not disagree on it.
package rollout
