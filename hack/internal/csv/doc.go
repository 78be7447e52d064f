// Package csv composes the ClusterServiceVersion, the one object by which OLM installs the operator.
//
// What people read in a catalog (description, icon, descriptors) and what runs (the Deployment, its permissions)
// are typed Go values here; custom resource definitions and permissions come in from package markers. Nothing here
// reads or writes a file other than the two that are embedded.
package csv
