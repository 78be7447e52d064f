// Package inputs reads what the desired state of a cache is computed from: the objects that run it, the Secrets that its spec
// names, the features of the cluster, and the state of memcached as its agents tell it. It answers once what everybody asks of
// a spec. It writes nothing and decides nothing else.
package inputs
