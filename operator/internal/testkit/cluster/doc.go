// Package cluster gives tests a real API server with etcd, and plays the parts of Kubernetes that are missing there:
// what the Deployment controller, the kubelet and the garbage collector do. It also counts what an operator under test
// asks of the API server. It knows nothing about any controller of ours.
package cluster
