package node

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

func TestMountsBelowTakesOnlyWhatIsInside(t *testing.T) {
	mountinfo := `22 1 259:1 / / rw - ext4 /dev/vda rw
30 22 0:25 / /cache/cluster/kubelet/pods/a rw - tmpfs tmpfs rw
31 30 0:26 / /cache/cluster/kubelet/pods/a/with\040blank rw - tmpfs tmpfs rw
32 22 0:27 / /cache/cluster-of-another/kubelet rw - tmpfs tmpfs rw
33 22 0:27 / /cache/cluster rw - tmpfs tmpfs rw
`
	want := []string{"/cache/cluster/kubelet/pods/a", "/cache/cluster/kubelet/pods/a/with blank"}
	if got := mountsBelow(mountinfo, "/cache/cluster"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestConfigurationsAreWellFormed(t *testing.T) {
	l := host.Layout{Cache: filepath.Join(t.TempDir(), `with "quotes"`)}
	n := host.Nodes[1]
	files, err := ConfigFiles(l, host.Nodes)
	if err != nil {
		t.Fatal(err)
	}
	var kubelet struct {
		Address     string   `json:"address"`
		HealthzPort int      `json:"healthzPort"`
		ResolvConf  string   `json:"resolvConf"`
		ClusterDNS  []string `json:"clusterDNS"`
	}
	unmarshal(t, files[kubeletFile(l, n)], &kubelet)
	if kubelet.Address != n.IP || kubelet.HealthzPort != 10247 || kubelet.ResolvConf != l.Cluster("resolv.conf") || !slices.Equal(kubelet.ClusterDNS, []string{host.NodeIP}) {
		t.Errorf("kubelet: %+v", kubelet)
	}
	var network struct {
		Plugins []struct{ Type, Bridge string }
	}
	unmarshal(t, files[l.Cluster("cni", "config", "10-pods.conflist")], &network)
	if len(network.Plugins) != 1 || network.Plugins[0].Bridge != host.Bridge {
		t.Errorf("network: %+v", network)
	}
}

func TestNodesShareTheMemory(t *testing.T) {
	for nodes, reserves := range map[int]bool{1: false, 2: true} {
		raw, err := reserve(nodes)
		if err != nil {
			t.Fatal(err)
		}
		reserved := map[string]resource.Quantity{}
		unmarshal(t, raw, &reserved)
		if memory := reserved["memory"]; memory.IsZero() == reserves {
			t.Errorf("each of %d nodes reserves %s", nodes, memory.String())
		}
	}
}

func TestEachNodeHasACgroupInEveryHierarchy(t *testing.T) {
	v1, v2 := t.TempDir(), t.TempDir()
	for _, folder := range []string{"cpu", "memory", "systemd"} {
		if err := os.Mkdir(filepath.Join(v1, folder), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(v2, "cgroup.subtree_control"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{v1, v2} {
		for range 2 { // It may be there already.
			if err := addCgroup(root, host.Nodes[1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, folder := range []string{v1 + "/cpu", v1 + "/memory", v1 + "/systemd", v2} {
		if _, err := os.Stat(filepath.Join(folder, "memcached-operator-node-1")); err != nil {
			t.Error(err)
		}
	}
}

// unmarshal reads YAML, which includes JSON.
func unmarshal(t *testing.T, content string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(content), into); err != nil {
		t.Fatal(err)
	}
}

func TestAContainerIsKilledOnlyByItsOwnCgroup(t *testing.T) {
	other := exec.Command("/bin/sh", "-c", "while :; do sleep 1; done")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	l, n := host.Layout{Cache: t.TempDir()}, host.Nodes[0]
	folder := filepath.Join(tasks(l, n), "0123456789abcdef")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "init.pid"), []byte(strconv.Itoa(other.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	id, err := process.Identify(other.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := KillContainers(l, n); err != nil {
		t.Fatal(err)
	}
	if !id.Alive() {
		t.Error("a process outside the container's cgroup was killed")
	}
}
