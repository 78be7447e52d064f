// Package walk does on a cluster what a person does with the operator: install it
// through OLM, create a cache, store and read an item, upgrade and go back, look at what
// is there, take it away again.
//
// The demo shows these steps and the end-to-end tests assert them, so both use exactly
// the manifests in olm/ and the same kubectl. Every wait has a deadline, and what it
// returns when that passes names the last thing that was missing. Nothing here knows
// how the operator works inside.
package walk
