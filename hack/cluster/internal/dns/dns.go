// Package dns runs CoreDNS as a process of the host, on the address that pods are given as their DNS server.
// It answers for the cluster's names only: nothing is forwarded to the outside.
package dns

import (
	"fmt"
	"path/filepath"

	"github.com/example/memcached-operator/hack/cluster/internal/config"
	"github.com/example/memcached-operator/hack/cluster/internal/layout"
	"github.com/example/memcached-operator/hack/cluster/internal/probe"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

const ready = "127.0.0.1:8191"

// Write writes CoreDNS's configuration.
func Write(l layout.Layout) error {
	corefile := fmt.Sprintf(`.:53 {
  bind %s
  errors
  ready %s
  kubernetes cluster.local in-addr.arpa {
    kubeconfig %s
    ttl 5
  }
  cache 5
}
`, layout.NodeIP, ready, l.Kubeconfig())
	return config.Write(file(l), []byte(corefile), config.Public)
}

func file(l layout.Layout) string { return l.Cluster("Corefile") }

// Spec says how CoreDNS is run.
func Spec(l layout.Layout, bin string) process.Spec {
	return process.Spec{Name: "coredns", Path: filepath.Join(bin, "coredns"), Args: []string{"-conf", file(l)}, Files: []string{file(l), l.Kubeconfig()}}
}

// Ready returns nil when CoreDNS knows the cluster's services.
var Ready = probe.HTTP("http://" + ready + "/ready")
