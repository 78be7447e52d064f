// Package v1alpha1 holds the types of the API group app.example.com, version v1alpha1: what users write into an
// Application and what they read back from its status. Types, validation markers and documented constants live here;
// behaviour does not.
//
// The schema may grow but never narrow: an object that was valid stays valid, because OLM refuses an upgrade whose
// schema rejects an existing object.
//
// +kubebuilder:object:generate=true
// +groupName=app.example.com
package v1alpha1
