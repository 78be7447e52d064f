package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
)

const cgroups = "/sys/fs/cgroup"

// cgroupRoot is the cgroup of a node's pods. A kubelet removes the cgroups of pods that it does not know, so nodes cannot share one.
func cgroupRoot(n host.Node) string { return "/memcached-operator-" + n.Name }

// AddCgroup makes the cgroup of a node's pods, in every hierarchy of cgroup v1 or in the one of v2: the kubelet expects it there.
func AddCgroup(n host.Node) error { return addCgroup(cgroups, n) }

func addCgroup(root string, n host.Node) error {
	hierarchies := []string{root}
	control := filepath.Join(root, "cgroup.subtree_control")
	if _, err := os.Stat(control); err == nil {
		if err := os.WriteFile(control, []byte("+cpu +cpuset +memory +pids"), host.Public); err != nil {
			return fmt.Errorf("give cgroups their controllers: %w", err)
		}
	} else {
		folders, err := os.ReadDir(root)
		if err != nil {
			return fmt.Errorf("list cgroup hierarchies: %w", err)
		}
		hierarchies = nil
		for _, folder := range folders {
			hierarchies = append(hierarchies, filepath.Join(root, folder.Name())) // some are links
		}
	}
	for _, hierarchy := range hierarchies {
		if err := os.Mkdir(hierarchy+cgroupRoot(n), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make the cgroup of %s: %w", n.Name, err)
		}
	}
	return nil
}

// removeCgroups deletes the empty cgroups of all nodes. The kernel refuses to remove one that holds a process.
func removeCgroups() error {
	var roots []string
	for _, n := range host.Nodes {
		found, err := filepath.Glob(cgroups + "/*" + cgroupRoot(n)) // cgroup v1
		if err != nil {
			return fmt.Errorf("list cgroups: %w", err)
		}
		roots = append(roots, append(found, cgroups+cgroupRoot(n))...)
	}
	for _, root := range roots {
		var folders []string
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				folders = append(folders, path)
			}
			return nil // a cgroup that has gone needs no removal
		})
		for _, folder := range slices.Backward(folders) {
			_ = os.Remove(folder) // one that is in use is not the cluster's
		}
	}
	return nil
}
