// Command coredns is CoreDNS with the few plugins that a cluster's DNS needs.
//
// The full plugin list links most cloud providers' clients and takes minutes to build.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

func init() {
	// The order in which plugins handle a query, as in CoreDNS's own plugin.cfg.
	dnsserver.Directives = []string{"bind", "health", "ready", "errors", "cache", "kubernetes"}
}

func main() {
	coremain.Run()
}
