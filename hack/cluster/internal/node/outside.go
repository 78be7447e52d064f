package node

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
)

// Some files are outside of the cluster's folder, because containerd, the CNI library and the kubelet have fixed paths for
// them. The functions below remove only those of this cluster.

// shimSockets are the sockets of the shims of every containerd on this machine.
const shimSockets = "/run/containerd/s/*"

// deviceSocket is the kubelet's socket for device plugins.
const deviceSocket = "/var/lib/kubelet/device-plugins/kubelet.sock"

// removeSockets deletes the sockets that no process listens on.
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

// removeNetworkResults deletes the CNI library's records of this cluster's pods. A sandbox has two: one for the pod network
// and one for its loopback interface.
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

// emptied are the folders that containerd, the CNI library, the kubelet and the controller manager make, in the order in
// which they can be removed.
var emptied = []string{
	"/run/containerd/s", "/run/containerd", "/var/lib/cni/results", "/var/lib/cni", "/var/log/containers",
	"/var/lib/kubelet/device-plugins", "/var/lib/kubelet",
}
