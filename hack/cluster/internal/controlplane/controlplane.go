// Package controlplane says how etcd, the API server, the controller manager and the scheduler
// are run for a single-node cluster. It starts nothing itself.
package controlplane

import (
	"path/filepath"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// Leaves are the certificates that the cluster's components need.
func Leaves() []Leaf {
	return []Leaf{
		{
			Name: "apiserver", User: "kube-apiserver",
			DNS: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
			IPs: []string{"127.0.0.1", host.NodeIP, host.APIServiceIP},
		},
		{Name: "admin", User: "admin", Groups: []string{"system:masters"}},
		{Name: "controller-manager", User: "system:kube-controller-manager"},
		{Name: "scheduler", User: "system:kube-scheduler"},
		{Name: "proxy", User: "system:kube-proxy"},
		{
			Name: "node", User: "system:node:" + host.NodeName, Groups: []string{"system:nodes"},
			DNS: []string{host.NodeName}, IPs: []string{host.NodeIP},
		},
		{Name: "front-proxy", User: "front-proxy"},
		{Name: "kubelet-client", User: "kube-apiserver-kubelet-client", Groups: []string{"system:masters"}},
		{Name: "registry", User: "registry", DNS: []string{"localhost"}, IPs: []string{"127.0.0.1"}},
	}
}

// Health checks of the components that answer on loopback.
var (
	EtcdReady              = process.HTTPReady(host.EtcdClient + "/health")
	ControllerManagerReady = process.HTTPReady("https://127.0.0.1:10257/healthz")
	SchedulerReady         = process.HTTPReady("https://127.0.0.1:10259/healthz")
)

// Etcd is the store. It does not sync to disk: its data never outlives the cluster.
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
	}}
}

// auditPolicy keeps who did what, but not the bodies, and only for service accounts: it shows which
// of an operator's permissions are used. Leases would drown the rest.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  resources: [{group: coordination.k8s.io}]
- level: None
  userGroups: ["system:serviceaccounts:kube-system"]
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
`

// AuditLog is where the API server writes its audit log, one JSON event a line.
func AuditLog(l host.Layout) string { return l.Cluster("logs", "audit.log") }

func auditPolicyFile(l host.Layout) string { return l.Cluster("audit-policy.yaml") }

// WriteConfig writes the files that the API server reads.
func WriteConfig(l host.Layout) error {
	return host.WriteFile(auditPolicyFile(l), []byte(auditPolicy), host.Public)
}

// APIServer is the API server. It listens on every address because kubectl comes by loopback and pods by the bridge.
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
		// The node's name must never be looked up in an outside DNS.
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
		"--audit-log-path=" + AuditLog(l),
		"--audit-log-maxsize=200",
		"--audit-log-maxbackup=1",
	}, Files: []string{auditPolicyFile(l), l.PKI("ca.crt"), l.PKI("apiserver.crt"), l.PKI("sa.key")}}
}

// ControllerManager runs Kubernetes's own controllers.
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
	}, Files: []string{l.Cluster("controller-manager.kubeconfig"), l.PKI("ca.crt"), l.PKI("sa.key")}}
}

// Scheduler assigns pods to the node.
func Scheduler(l host.Layout, bin string) process.Spec {
	return process.Spec{Name: "kube-scheduler", Path: filepath.Join(bin, "kube-scheduler"), Args: []string{
		"--kubeconfig=" + l.Cluster("scheduler.kubeconfig"),
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
		"--profiling=false",
	}, Files: []string{l.Cluster("scheduler.kubeconfig")}}
}
