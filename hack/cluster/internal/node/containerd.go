// Package node describes the processes of the nodes: a containerd and a kubelet each, and one kube-proxy for all, because they
// share the network. It also removes what these leave behind: containers, mounts, sockets, cgroups and address leases. It
// starts no process.
package node

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
	"github.com/example/memcached-operator/hack/cluster/internal/registry"
)

// containerdConfig keeps everything in the node's folder, network namespaces included: they end when the mounts in that
// folder are removed.
const containerdConfig = `version = 2
root = %[1]q
state = %[2]q
[grpc]
  address = %[3]q
[plugins."io.containerd.internal.v1.opt"]
  path = %[4]q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %[5]q
  disable_apparmor = true
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %[6]q
    conf_dir = %[7]q
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
        Root = %[8]q
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = %[9]q
`

// hostsConfig directs every pull to the local registry, whatever registry the image names.
const hostsConfig = `server = "https://%[1]s"
[host."https://%[1]s"]
  capabilities = ["pull", "resolve"]
  ca = %[2]q
`

// cniConfig connects pods to the bridge. Address leases are in the cluster's folder.
const cniConfig = `{
  "cniVersion": "1.0.0",
  "name": %[1]q,
  "plugins": [{
    "type": "bridge",
    "bridge": %[2]q,
    "isGateway": true,
    "ipMasq": false,
    "hairpinMode": true,
    "ipam": {
      "type": "host-local",
      "dataDir": %[3]q,
      "ranges": [[{"subnet": %[4]q, "rangeStart": "198.18.0.10", "rangeEnd": "198.18.0.250", "gateway": %[5]q}]],
      "routes": [{"dst": "0.0.0.0/0"}]
    }
  }]
}
`

// folder is the folder of a node, or a path in it.
func folder(l host.Layout, n host.Node, parts ...string) string {
	return l.Cluster(append([]string{n.Name}, parts...)...)
}

func stateDir(l host.Layout, n host.Node) string { return folder(l, n, "containerd", "state") }

func socket(l host.Layout, n host.Node) string { return folder(l, n, "containerd.sock") }

func containerdFile(l host.Layout, n host.Node) string { return folder(l, n, "containerd.toml") }

// ConfigFiles returns the configuration of the nodes and of what they share, the pod network and kube-proxy: content by path.
func ConfigFiles(l host.Layout, nodes []host.Node) (map[string]string, error) {
	network, hosts := l.Cluster("cni", "config"), l.Cluster("registry-hosts")
	files := map[string]string{
		filepath.Join(hosts, "_default", "hosts.toml"): fmt.Sprintf(hostsConfig, host.Registry, l.PKI("ca.crt")),
		filepath.Join(network, "10-pods.conflist"):     fmt.Sprintf(cniConfig, host.NetworkName, host.Bridge, l.Cluster("cni", "leases"), host.PodCIDR, host.NodeIP),
		l.Cluster("resolv.conf"):                       "", // pods get no DNS server but the cluster's
		l.Cluster("proxy.yaml"):                        fmt.Sprintf(proxyConfig, host.NodeIP, l.Cluster("proxy.kubeconfig"), host.PodCIDR),
	}
	reserved, err := reserve(len(nodes))
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		files[containerdFile(l, n)] = fmt.Sprintf(containerdConfig, folder(l, n, "containerd", "root"), stateDir(l, n), socket(l, n),
			folder(l, n, "containerd", "opt"), registry.Pause, "/usr/lib/cni", network, folder(l, n, "containerd", "runc"), hosts)
		files[kubeletFile(l, n)] = kubeletConfig(l, n, reserved)
	}
	return files, nil
}

// Containerd describes the containerd of a node.
func Containerd(l host.Layout, n host.Node) process.Spec {
	return process.Spec{
		Name: n.Containerd(), Path: "containerd",
		Args:  []string{"--log-level=warn", "--config", containerdFile(l, n)},
		Files: []string{containerdFile(l, n)},
		Ready: func(ctx context.Context) error {
			_, err := ctr(ctx, l, n, "version")
			return err
		},
	}
}
