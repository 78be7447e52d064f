// Package cluster gives tests a Kubernetes without nodes: a real API server with etcd and, for tests of whole
// reconciles, the real controllers of Deployments, StatefulSets, PodDisruptionBudgets, garbage and namespaces. It stands in
// for the scheduler and the kubelet alone. It also counts the requests of an operator under test. What an operator is does
// not belong here: see testenv.
package cluster
