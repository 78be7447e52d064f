package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Disk space that must be free in the cache folder, in bytes.
const (
	// DiskToBuild is for building every tool.
	DiskToBuild = 12 << 30
	// DiskToRun is for the images and data of a running cluster.
	DiskToRun = 3 << 30
)

// Check reports everything that prevents the cluster from running on this machine, one line each.
// alive reports whether a process of the cluster runs already: it may use its ports.
func Check(l Layout, disk uint64, alive func(process string) bool) error {
	if os.Geteuid() != 0 {
		return errors.New("the local cluster needs root, for network namespaces and containers: run it with sudo -E, or set KUBECONFIG to a cluster of your own instead")
	}
	return errors.Join(checkDisk(l.Cache, disk), checkCgroups("/sys/fs/cgroup"), checkRange(), checkPorts(Ports(), alive))
}

// checkDisk checks the file system of the cache.
func checkDisk(folder string, want uint64) error {
	existing := folder
	for {
		if _, err := os.Stat(existing); err == nil || existing == "/" {
			break
		}
		existing = filepath.Dir(existing)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(existing, &fs); err != nil {
		return fmt.Errorf("read the free space for %s: %w", folder, err)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < want {
		return fmt.Errorf("%s has %.1f GiB free, and %.0f GiB are needed: free some, or set XDG_CACHE_HOME to a larger disk", existing, float64(free)/(1<<30), float64(want)/(1<<30))
	}
	if fs.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return fmt.Errorf("%s is itself on an overlay file system, which cannot hold the overlay file systems of containers: set XDG_CACHE_HOME to a folder on a real disk or a volume", existing)
	}
	return nil
}

// checkCgroups looks for the resource controllers that the kubelet needs, in cgroup v1 or v2.
func checkCgroups(root string) error {
	wanted := []string{"cpu", "cpuset", "memory", "pids"}
	data, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	unified, available := err == nil, strings.Fields(string(data))
	var missing []string
	for _, controller := range wanted {
		if unified {
			if !slices.Contains(available, controller) {
				missing = append(missing, controller)
			}
			continue
		}
		if _, err := os.Stat(filepath.Join(root, controller, "cgroup.procs")); err != nil {
			missing = append(missing, controller)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("the cgroup controllers %s are not available in %s: mount cgroup2 there (mount -t cgroup2 none %s), or, in a container, run it privileged", strings.Join(missing, ", "), root, root)
}
