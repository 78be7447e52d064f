package node

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

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
	files := ConfigFiles(l)
	var kubelet struct {
		ResolvConf string   `json:"resolvConf"`
		ClusterDNS []string `json:"clusterDNS"`
	}
	unmarshal(t, files[l.Cluster("kubelet.yaml")], &kubelet)
	if kubelet.ResolvConf != l.Cluster("resolv.conf") || !slices.Equal(kubelet.ClusterDNS, []string{host.NodeIP}) {
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
	l := host.Layout{Cache: t.TempDir()}
	folder := filepath.Join(tasks(l), "0123456789abcdef")
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
	if err := KillContainers(l); err != nil {
		t.Fatal(err)
	}
	if !id.Alive() {
		t.Error("a process outside the container's cgroup was killed")
	}
}
