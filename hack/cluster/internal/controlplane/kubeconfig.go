// Package kube talks to the cluster's API server: it writes kubeconfigs, asks for readiness,
// and applies objects. What the objects are is not decided here.
package controlplane

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
)

// WriteKubeconfig writes a kubeconfig with everything embedded, so that it can be copied anywhere.
func WriteKubeconfig(path, server, caFile, certFile, keyFile string) error {
	read := func(file string) []byte {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil // an empty certificate is refused below
		}
		return data
	}
	cluster := &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: read(caFile)}
	user := &clientcmdapi.AuthInfo{ClientCertificateData: read(certFile), ClientKeyData: read(keyFile)}
	if len(cluster.CertificateAuthorityData) == 0 || len(user.ClientCertificateData) == 0 || len(user.ClientKeyData) == 0 {
		return fmt.Errorf("write %s: %s, %s or %s cannot be read", path, caFile, certFile, keyFile)
	}
	const name = "memcached-operator"
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: user},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return host.WriteFile(path, content, host.Private)
}
