package node

import (
	"context"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/memcached-operator/hack/cluster/internal/controlplane"
	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// kubeletConfig works with cgroup v1 and v2, with swap, and in a container: cgroupfs needs no systemd.
// The kubelet does not watch the disk, because a full cache folder must not evict the pods of a test.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %[1]s
healthzBindAddress: 127.0.0.1
authentication: {x509: {clientCAFile: %[2]q}, webhook: {enabled: true}, anonymous: {enabled: false}}
authorization: {mode: Webhook}
tlsCertFile: %[3]q
tlsPrivateKeyFile: %[4]q
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
clusterDNS: [%[1]s]
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

// Kubelet describes the kubelet. It is ready when the node is ready for pods.
func Kubelet(l host.Layout, bin string) process.Spec {
	return process.Spec{Name: "kubelet", Path: filepath.Join(bin, "kubelet"), Args: []string{
		"--config=" + l.Cluster("kubelet.yaml"),
		"--kubeconfig=" + l.Cluster("node.kubeconfig"),
		"--cert-dir=" + l.Cluster("kubelet", "pki"),
		"--root-dir=" + l.Cluster("kubelet"),
		"--hostname-override=" + host.NodeName,
		"--node-ip=" + host.NodeIP,
	}, Files: []string{l.Cluster("kubelet.yaml"), l.Cluster("node.kubeconfig"), l.PKI("node.crt")}, Ready: func(ctx context.Context) error {
		client, err := controlplane.NewClient(l.Kubeconfig()) // the file is written after this function has returned
		if err != nil {
			return err
		}
		node, err := client.Get(ctx, schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "", host.NodeName)
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
		"--hostname-override=" + host.NodeName,
	}, Files: []string{l.Cluster("proxy.yaml"), l.Cluster("proxy.kubeconfig")}, Ready: process.HTTPReady("http://127.0.0.1:10256/healthz")}
}
