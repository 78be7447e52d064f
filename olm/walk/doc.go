// Package walk does on a cluster what a user does with the operator: install it through OLM, create resources and wait until
// they are ready, upgrade and roll back, list what is left, and uninstall.
//
// The demo shows these steps and the end-to-end tests assert them, so both use the manifests in olm/ and the same kubectl.
// Every wait has a deadline, and its error names what was missing last. This package knows nothing of how the operator works
// inside.
package walk
