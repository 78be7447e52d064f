package controlplane

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
)

// WriteKubeconfig writes the kubeconfig of a user, with certificates and key embedded: it may be copied anywhere.
func WriteKubeconfig(l host.Layout, user string) error {
	const name = "memcached-operator"
	config := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: host.APIServer, CertificateAuthority: l.PKI("ca.crt")}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {ClientCertificate: l.PKI(user + ".crt"), ClientKey: l.PKI(user + ".key")}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}
	if err := clientcmdapi.FlattenConfig(&config); err != nil {
		return fmt.Errorf("embed the certificates of %s: %w", user, err)
	}
	content, err := clientcmd.Write(config)
	if err != nil {
		return fmt.Errorf("encode the kubeconfig of %s: %w", user, err)
	}
	return host.WriteFile(l.Cluster(user+".kubeconfig"), content, host.Private)
}
