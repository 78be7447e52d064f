package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/memcached-operator/hack/cluster/internal/controlplane"
	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// kubeletFormat works with cgroup v1 and v2, with swap, and in a container: cgroupfs needs no systemd.
// The kubelet does not watch the disk, because a full cache folder must not evict the pods of a test. It removes cgroups and logs
// of pods that it does not know, so each node has a root for its cgroups and a folder for its logs.
const kubeletFormat = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %[1]s
healthzBindAddress: %[9]s
healthzPort: %[10]s
authentication: {x509: {clientCAFile: %[2]q}, webhook: {enabled: true}, anonymous: {enabled: false}}
authorization: {mode: Webhook}
tlsCertFile: %[3]q
tlsPrivateKeyFile: %[4]q
cgroupDriver: cgroupfs
cgroupRoot: %[11]s
systemReserved: %[12]s
failCgroupV1: false
failSwapOn: false
clusterDNS: [%[13]s]
clusterDomain: cluster.local
containerRuntimeEndpoint: unix://%[5]s
resolvConf: %[6]q
podLogsDir: %[7]q
volumePluginDir: %[8]q
enforceNodeAllocatable: []
evictionHard: {memory.available: 100Mi}
imageGCHighThresholdPercent: 100
makeIPTablesUtilChains: false
serializeImagePulls: false
registryPullQPS: 0
eventRecordQPS: 0
maxPods: 200
`

const proxyConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
bindAddress: %[1]s
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
clientConnection: {kubeconfig: %[2]q}
clusterCIDR: %[3]s
conntrack: {maxPerCore: 0}
`

func podLogs(l host.Layout) string { return l.Cluster("logs", "pods") }

func kubeletFile(l host.Layout, n host.Node) string { return folder(l, n, "kubelet.yaml") }

func kubeconfig(l host.Layout, n host.Node) string { return l.Cluster(n.Name + ".kubeconfig") }

func kubeletConfig(l host.Layout, n host.Node, reserved string) string {
	address, port, _ := net.SplitHostPort(n.Health) // a constant
	return fmt.Sprintf(kubeletFormat, n.IP, l.PKI("ca.crt"), l.PKI(n.Name+".crt"), l.PKI(n.Name+".key"),
		socket(l, n), l.Cluster("resolv.conf"), filepath.Join(podLogs(l), n.Name), l.Cluster("kubelet-plugins"),
		address, port, cgroupRoot(n), reserved, host.NodeIP)
}

// reserve returns the memory that each of several kubelets leaves to the others, as YAML: each would offer all of the machine's
// otherwise. All offer all CPUs, because pods that ask for more than there are only get slower.
func reserve(nodes int) (string, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return "", fmt.Errorf("read the machine's memory: %w", err)
	}
	memory, err := fs.Meminfo()
	if err == nil && memory.MemTotal == nil {
		err = errors.New("no MemTotal")
	}
	if err != nil {
		return "", fmt.Errorf("read the machine's memory: %w", err)
	}
	kibibytes := int(*memory.MemTotal)
	return fmt.Sprintf("{memory: %dKi}", kibibytes-kibibytes/nodes), nil
}

// Kubelet describes the kubelet of a node. It is ready when the node is ready for pods.
func Kubelet(l host.Layout, n host.Node, bin string) process.Spec {
	healthy := process.HTTPReady("http://" + n.Health + "/healthz")
	return process.Spec{Name: n.Kubelet(), Path: filepath.Join(bin, "kubelet"), Args: []string{
		"--config=" + kubeletFile(l, n),
		"--kubeconfig=" + kubeconfig(l, n),
		"--cert-dir=" + folder(l, n, "kubelet", "pki"),
		"--root-dir=" + folder(l, n, "kubelet"),
		"--hostname-override=" + n.Name,
		"--node-ip=" + n.IP,
	}, Files: []string{kubeletFile(l, n), kubeconfig(l, n), l.PKI(n.Name + ".crt")}, Ready: func(ctx context.Context) error {
		// The API server says for 40 seconds that a node is ready whose kubelet does not run.
		if err := healthy(ctx); err != nil {
			return err
		}
		client, err := controlplane.NewClient(l.Kubeconfig()) // the file is written after this function has returned
		if err != nil {
			return err
		}
		node, err := client.Get(ctx, schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "", n.Name)
		if err != nil {
			return err
		}
		return controlplane.ConditionTrue(node, "Ready")
	}}
}

// Proxy describes kube-proxy, which implements ClusterIPs. It is ready when it has written its rules.
func Proxy(l host.Layout, bin string) process.Spec {
	return process.Spec{Name: "kube-proxy", Path: filepath.Join(bin, "kube-proxy"), Args: []string{
		"--config=" + l.Cluster("proxy.yaml"),
		"--hostname-override=" + host.Nodes[0].Name,
	}, Files: []string{l.Cluster("proxy.yaml"), l.Cluster("proxy.kubeconfig")}, Ready: process.HTTPReady("http://127.0.0.1:10256/healthz")}
}
