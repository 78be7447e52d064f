// Package v1alpha1 contains the API types of the group app.example.com, version v1alpha1: Application, its validation
// markers, and the constants of its conditions and events. It contains no behaviour.
//
// A schema may only become wider. An object that was valid must stay valid, because OLM refuses an upgrade whose schema
// rejects an existing object.
//
// +kubebuilder:object:generate=true
// +groupName=app.example.com
package v1alpha1
