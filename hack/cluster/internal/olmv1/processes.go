// Package olmv1 runs OLM v1 beside the control plane: catalogd and operator-controller as processes of this machine, and their objects in
// the cluster.
package olmv1

import (
	"path/filepath"

	"github.com/example/memcached-operator/hack/cluster/internal/controlplane"
	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// namespace is the namespace of OLM v1. It holds the Helm releases of ClusterExtensions.
const namespace = "olmv1-system"

// certificate is the name of the certificate of all servers of OLM v1.
const certificate = "olmv1"

// Certificate describes the certificate of all servers of OLM v1.
func Certificate() controlplane.Certificate {
	return controlplane.Certificate{Name: certificate, User: "olmv1", DNS: []string{"localhost"}, IPs: []string{"127.0.0.1"}}
}

// registries sends every image to the local registry. Both programs look for it below their home folder, so the machine's own file stays
// as it is.
const registries = `unqualified-search-registries = []
[[registry]]
prefix = "quay.io"
location = "` + host.Registry + `"
[[registry]]
prefix = "docker.io"
location = "` + host.Registry + `"
`

// Folder is the folder with all state of OLM v1, or a path in it.
func Folder(l host.Layout, parts ...string) string {
	return l.Cluster(append([]string{"olmv1"}, parts...)...)
}

func registriesFile(l host.Layout) string {
	return Folder(l, "home", ".config", "containers", "registries.conf")
}

// ConfigFiles returns the configuration of both programs: content by path.
func ConfigFiles(l host.Layout) map[string]string {
	return map[string]string{registriesFile(l): registries}
}

// Catalogd describes the server of catalogs. bin is the folder of the programs.
func Catalogd(l host.Layout, bin string) process.Spec {
	return spec(l, bin, "catalogd", host.CatalogdHealth,
		"--catalogs-server-addr="+host.CatalogdContent, "--external-address="+host.CatalogdURL,
		"--metrics-bind-address="+host.CatalogdMetrics, "--webhook-server-port="+host.CatalogdWebhookPort,
		"--cache-dir="+Folder(l, "catalogd"))
}

// OperatorController describes the program that installs ClusterExtensions. bin is the folder of the programs.
func OperatorController(l host.Layout, bin string) process.Spec {
	return spec(l, bin, "operator-controller", host.OperatorControllerHealth,
		"--metrics-bind-address="+host.OperatorControllerMetrics, "--catalogd-cas-dir="+authorities(l),
		"--cache-path="+Folder(l, "operator-controller"))
}

// authorities is the folder with the certificate of the cluster's authority alone, as both programs want it.
func authorities(l host.Layout) string { return Folder(l, "authorities") }

func spec(l host.Layout, bin, name, health string, arguments ...string) process.Spec {
	return process.Spec{
		Name: name, Path: filepath.Join(bin, name), Args: append([]string{
			"--kubeconfig=" + l.Kubeconfig(), "--system-namespace=" + namespace, "--health-probe-bind-address=" + health,
			"--tls-cert=" + l.PKI(certificate+".crt"), "--tls-key=" + l.PKI(certificate+".key"), "--pull-cas-dir=" + authorities(l),
		}, arguments...),
		Env:   []string{"HOME=" + Folder(l, "home")},
		Files: []string{registriesFile(l), l.Kubeconfig(), l.PKI("ca.crt"), l.PKI(certificate + ".crt")},
		Ready: process.HTTPReady("http://" + health + "/readyz"),
	}
}
