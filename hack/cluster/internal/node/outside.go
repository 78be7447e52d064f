package node

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
)

// Some things land outside the cluster's folder because their places are fixed in containerd, the CNI library and the
// kubelet. The functions here remove exactly those that belong to this cluster.

// shimSockets is where containerd's shims listen, whichever containerd they belong to.
const shimSockets = "/run/containerd/s/*"

// deviceSocket is where the kubelet listens for device plugins, wherever its own folder is.
const deviceSocket = "/var/lib/kubelet/device-plugins/kubelet.sock"

// removeSockets deletes the sockets that nobody listens on any more.
func removeSockets() error {
	sockets, err := filepath.Glob(shimSockets)
	if err != nil {
		return fmt.Errorf("list the shims' sockets: %w", err)
	}
	var errs []error
	for _, socket := range append(sockets, deviceSocket) {
		connection, err := net.Dial("unix", socket)
		if err == nil {
			connection.Close()
			continue
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			errs = append(errs, os.Remove(socket))
		}
	}
	return errors.Join(errs...)
}

// removeLogLinks deletes the links in /var/log/containers that point at this cluster's logs.
func removeLogLinks(l host.Layout) error {
	links, err := filepath.Glob("/var/log/containers/*.log")
	if err != nil {
		return fmt.Errorf("list container logs: %w", err)
	}
	var errs []error
	for _, link := range links {
		target, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(target, podLogs(l)+"/") {
			errs = append(errs, os.Remove(link))
		}
	}
	return errors.Join(errs...)
}

// removeNetworkResults deletes what the CNI library remembers of this cluster's pods: one file for the pod network, whose
// name holds the sandbox's id, and one for the loopback interface of the same sandbox.
func removeNetworkResults() error {
	const folder, device = "/var/lib/cni/results/", "-eth0"
	files, err := filepath.Glob(folder + host.NetworkName + "-*" + device)
	if err != nil {
		return fmt.Errorf("list network results: %w", err)
	}
	var errs []error
	for _, file := range files {
		sandbox := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), host.NetworkName+"-"), device)
		for _, result := range []string{folder + "cni-loopback-" + sandbox + "-lo", file} {
			if err := os.Remove(result); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, fmt.Errorf("remove a network result: %w", err))
			}
		}
	}
	return errors.Join(errs...)
}

// emptied are the folders that containerd, the CNI library, the kubelet and the controller manager make outside the
// cluster's, in the order in which they can be removed.
var emptied = []string{
	"/run/containerd/s", "/run/containerd", "/var/lib/cni/results", "/var/lib/cni", "/var/log/containers",
	"/var/lib/kubelet/device-plugins", "/var/lib/kubelet",
}

// removeEmptied removes those of the folders that are empty.
func removeEmptied() {
	for _, folder := range emptied {
		_ = os.Remove(folder) // refused when somebody else keeps something there
	}
}

// removeCgroups deletes the kubelet's empty cgroups. The kernel refuses to remove one that holds a process.
func removeCgroups() error {
	roots, err := filepath.Glob("/sys/fs/cgroup/*/kubepods")
	if err != nil {
		return fmt.Errorf("list cgroups: %w", err)
	}
	for _, root := range append(roots, "/sys/fs/cgroup/kubepods") {
		var folders []string
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				folders = append(folders, path)
			}
			return nil // a cgroup that went away meanwhile is what is wanted
		})
		for _, folder := range slices.Backward(folders) {
			_ = os.Remove(folder) // one in use belongs to somebody else
		}
	}
	return nil
}
