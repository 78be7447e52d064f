// Package node says how containerd, the kubelet and kube-proxy are run, and cleans up what they leave behind:
// containers, mounts, sockets, address leases. It starts no process itself.
package node

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// PauseImage is the image of every pod's sandbox, in the local registry.
const PauseImage = host.Registry + "/memcached-operator/pause:1"

// CNIPlugins is the folder of Debian's CNI plugins.
const CNIPlugins = "/usr/lib/cni"

// containerdConfig keeps everything below the cluster's folder. Network namespaces live there too, so that
// removing the mounts below that folder removes them.
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

// hostsConfig sends every pull, whatever registry the image names, to the local registry.
const hostsConfig = `server = "https://%[1]s"
[host."https://%[1]s"]
  capabilities = ["pull", "resolve"]
  ca = %[2]q
`

// cniConfig puts pods on the bridge. Address leases are kept with the rest of the cluster.
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

func stateDir(l host.Layout) string { return l.Cluster("containerd", "state") }

// WriteContainerd writes the configuration of containerd and of the pod network.
func WriteContainerd(l host.Layout) error {
	network := l.CNI("config")
	hosts := l.Cluster("registry-hosts")
	files := map[string]string{
		l.Cluster("containerd.toml"): fmt.Sprintf(containerdConfig, l.Cluster("containerd", "root"), stateDir(l),
			l.ContainerdSocket(), l.Cluster("containerd", "opt"), PauseImage, CNIPlugins, network, l.Cluster("containerd", "runc"), hosts),
		filepath.Join(hosts, "_default", "hosts.toml"): fmt.Sprintf(hostsConfig, host.Registry, l.PKI("ca.crt")),
		filepath.Join(network, "10-pods.conflist"): fmt.Sprintf(cniConfig, host.NetworkName, host.Bridge,
			l.CNI("leases"), host.PodCIDR, host.NodeIP),
	}
	return writeFiles(files)
}

// Containerd is the container runtime.
func Containerd(l host.Layout) (process.Spec, error) {
	path, err := exec.LookPath("containerd")
	if err != nil {
		return process.Spec{}, fmt.Errorf("find containerd: %w", err)
	}
	return process.Spec{
		Name: "containerd", Path: path,
		Args:  []string{"--log-level=warn", "--config", l.Cluster("containerd.toml")},
		Files: []string{l.Cluster("containerd.toml")},
	}, nil
}

// ContainerdReady returns nil when containerd answers.
func ContainerdReady(l host.Layout) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := ctr(ctx, l, "version")
		return err
	}
}

// writeFiles writes configuration files.
func writeFiles(files map[string]string) error {
	for path, content := range files {
		if err := host.WriteFile(path, []byte(content), host.Public); err != nil {
			return err
		}
	}
	return nil
}
