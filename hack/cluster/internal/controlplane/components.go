// Package controlplane describes the processes of the control plane: etcd, the API server, the controller manager, the
// scheduler and CoreDNS, with their certificates and kubeconfigs. It also has the client of the API server. It starts no
// process.
package controlplane

import (
	"path/filepath"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// Certificates lists the certificates of the cluster's components.
func Certificates() []Certificate {
	certificates := []Certificate{
		{
			Name: "apiserver", User: "kube-apiserver",
			DNS: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
			IPs: []string{"127.0.0.1", host.NodeIP, host.APIServiceIP},
		},
		{Name: "admin", User: "admin", Groups: []string{"system:masters"}},
		{Name: "controller-manager", User: "system:kube-controller-manager"},
		{Name: "scheduler", User: "system:kube-scheduler"},
		{Name: "proxy", User: "system:kube-proxy"},
		{Name: "front-proxy", User: "front-proxy"},
		{Name: "kubelet-client", User: "kube-apiserver-kubelet-client", Groups: []string{"system:masters"}},
		{Name: "registry", User: "registry", DNS: []string{"localhost"}, IPs: []string{"127.0.0.1"}},
	}
	for _, node := range host.Nodes {
		certificates = append(certificates, Certificate{
			Name: node.Name, User: "system:node:" + node.Name, Groups: []string{"system:nodes"},
			DNS: []string{node.Name}, IPs: []string{node.IP},
		})
	}
	return certificates
}

// Etcd describes etcd. It does not sync to disk, because its data does not outlive the cluster.
func Etcd(l host.Layout, bin string) process.Spec {
	return process.Spec{Name: "etcd", Path: filepath.Join(bin, "etcd"), Args: []string{
		"--data-dir=" + l.Cluster("etcd"),
		"--unsafe-no-fsync",
		"--log-level=warn",
		"--listen-client-urls=" + host.EtcdClient,
		"--advertise-client-urls=" + host.EtcdClient,
		"--listen-peer-urls=" + host.EtcdPeer,
		"--initial-advertise-peer-urls=" + host.EtcdPeer,
		"--initial-cluster=default=" + host.EtcdPeer,
	}, Ready: process.HTTPReady(host.EtcdClient + "/health")}
}

// auditPolicy logs the requests of service accounts, without bodies: it shows which of its permissions an operator uses.
// Leases of others are left out, because they are most of the requests.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  namespaces: [memcached-operator-system]
  userGroups: ["system:serviceaccounts"]
- level: None
  resources: [{group: coordination.k8s.io}]
- level: None
  userGroups: ["system:serviceaccounts:kube-system"]
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
`

func auditPolicyFile(l host.Layout) string { return l.Cluster("audit-policy.yaml") }

// ConfigFiles returns the configuration of the API server and of CoreDNS: content by path.
func ConfigFiles(l host.Layout) map[string]string {
	return map[string]string{auditPolicyFile(l): auditPolicy, corefilePath(l): corefile(l)}
}

// APIServer describes the API server. It listens on every address, because kubectl uses loopback and pods use the bridge.
func APIServer(l host.Layout, bin string) process.Spec {
	return process.Spec{Name: "kube-apiserver", Path: filepath.Join(bin, "kube-apiserver"), Args: []string{
		"--etcd-servers=" + host.EtcdClient,
		"--bind-address=0.0.0.0",
		"--secure-port=6443",
		"--advertise-address=" + host.NodeIP,
		"--service-cluster-ip-range=" + host.ServiceCIDR,
		"--tls-cert-file=" + l.PKI("apiserver.crt"),
		"--tls-private-key-file=" + l.PKI("apiserver.key"),
		"--client-ca-file=" + l.PKI("ca.crt"),
		"--service-account-key-file=" + l.PKI("sa.pub"),
		"--service-account-signing-key-file=" + l.PKI("sa.key"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--kubelet-client-certificate=" + l.PKI("kubelet-client.crt"),
		"--kubelet-client-key=" + l.PKI("kubelet-client.key"),
		"--kubelet-certificate-authority=" + l.PKI("ca.crt"),
		// A node's name must not be looked up in a DNS outside of the cluster.
		"--kubelet-preferred-address-types=InternalIP",
		"--requestheader-client-ca-file=" + l.PKI("ca.crt"),
		"--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + l.PKI("front-proxy.crt"),
		"--proxy-client-key-file=" + l.PKI("front-proxy.key"),
		"--enable-aggregator-routing=true",
		"--allow-privileged=true",
		"--profiling=false",
		"--audit-policy-file=" + auditPolicyFile(l),
		"--audit-log-path=" + l.Cluster("logs", "audit.log"),
		"--audit-log-maxsize=200",
		"--audit-log-maxbackup=1",
	}, Files: []string{auditPolicyFile(l), l.PKI("ca.crt"), l.PKI("apiserver.crt"), l.PKI("sa.key")}, Ready: process.HTTPReady(host.APIServer + "/readyz")}
}

// ControllerManager describes the controller manager.
func ControllerManager(l host.Layout, bin string) process.Spec {
	return process.Spec{Name: "kube-controller-manager", Path: filepath.Join(bin, "kube-controller-manager"), Args: []string{
		"--kubeconfig=" + l.Cluster("controller-manager.kubeconfig"),
		"--bind-address=127.0.0.1",
		"--service-account-private-key-file=" + l.PKI("sa.key"),
		"--root-ca-file=" + l.PKI("ca.crt"),
		"--cluster-signing-cert-file=" + l.PKI("ca.crt"),
		"--cluster-signing-key-file=" + l.PKI("ca.key"),
		"--use-service-account-credentials",
		"--leader-elect=false",
		"--allocate-node-cidrs=false",
		"--cluster-cidr=" + host.PodCIDR,
		"--flex-volume-plugin-dir=" + l.Cluster("kubelet-plugins"),
		"--profiling=false",
		// The default of 20 requests a second lets the garbage collector take seconds for what a few caches own.
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	}, Files: []string{l.Cluster("controller-manager.kubeconfig"), l.PKI("ca.crt"), l.PKI("sa.key")}, Ready: process.HTTPReady("https://127.0.0.1:10257/healthz")}
}

// Scheduler describes the scheduler.
func Scheduler(l host.Layout, bin string) process.Spec {
	return process.Spec{Name: "kube-scheduler", Path: filepath.Join(bin, "kube-scheduler"), Args: []string{
		"--kubeconfig=" + l.Cluster("scheduler.kubeconfig"),
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
		"--profiling=false",
	}, Files: []string{l.Cluster("scheduler.kubeconfig")}, Ready: process.HTTPReady("https://127.0.0.1:10259/healthz")}
}
