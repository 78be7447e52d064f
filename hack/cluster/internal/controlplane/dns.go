// Package dns runs CoreDNS as a process of the host, on the address that pods are given as their DNS server.
// It answers for the cluster's names only: nothing is forwarded to the outside.
package controlplane

import (
	"fmt"
	"path/filepath"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

const dnsReady = "127.0.0.1:8191"

// WriteDNS writes CoreDNS's configuration.
func WriteDNS(l host.Layout) error {
	text := fmt.Sprintf(`.:53 {
  bind %s
  errors
  ready %s
  kubernetes cluster.local in-addr.arpa {
    kubeconfig %s
    ttl 5
  }
  cache 5
}
`, host.NodeIP, dnsReady, l.Kubeconfig())
	return host.WriteFile(corefile(l), []byte(text), host.Public)
}

func corefile(l host.Layout) string { return l.Cluster("Corefile") }

// DNS says how CoreDNS is run.
func DNS(l host.Layout, bin string) process.Spec {
	return process.Spec{Name: "coredns", Path: filepath.Join(bin, "coredns"), Args: []string{"-conf", corefile(l)}, Files: []string{corefile(l), l.Kubeconfig()}}
}

// DNSReady returns nil when CoreDNS knows the cluster's services.
var DNSReady = process.HTTPReady("http://" + dnsReady + "/ready")
