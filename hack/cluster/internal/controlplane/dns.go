package controlplane

import (
	"fmt"
	"path/filepath"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

const dnsReady = "127.0.0.1:8191"

func corefilePath(l host.Layout) string { return l.Cluster("Corefile") }

// corefile is CoreDNS's configuration. It answers for the cluster's names only and forwards nothing.
func corefile(l host.Layout) string {
	return fmt.Sprintf(`.:53 {
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
}

// DNS describes CoreDNS. It runs outside of the cluster, on the address of the pods' DNS server, and is ready when it knows
// the cluster's services.
func DNS(l host.Layout, bin string) process.Spec {
	return process.Spec{
		Name: "coredns", Path: filepath.Join(bin, "coredns"), Args: []string{"-conf", corefilePath(l)},
		Files: []string{corefilePath(l), l.Kubeconfig()}, Ready: process.HTTPReady("http://" + dnsReady + "/ready"),
	}
}
