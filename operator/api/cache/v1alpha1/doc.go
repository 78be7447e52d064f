// Package v1alpha1 contains the API types of the group cache.example.com, version v1alpha1: Memcached, its validation
// markers, and the constants of its conditions and events. It contains no behaviour.
//
// A schema may only become wider. An object that was valid must stay valid, because OLM refuses an upgrade whose schema
// rejects an existing object.
//
// +kubebuilder:object:generate=true
// +groupName=cache.example.com
package v1alpha1
