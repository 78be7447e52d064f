package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/example/memcached-operator/hack/cluster/internal/host"
	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// tasks is the folder of a node's containerd with one folder per running container.
func tasks(l host.Layout, n host.Node) string {
	return filepath.Join(stateDir(l, n), "io.containerd.runtime.v2.task", "k8s.io")
}

// KillContainers kills every container of a node. containerd need not run.
func KillContainers(l host.Layout, n host.Node) error {
	files, err := filepath.Glob(filepath.Join(tasks(l, n), "*", "init.pid"))
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	var errs []error
	for _, file := range files {
		errs = append(errs, killContainer(file))
	}
	return errors.Join(errs...)
}

// killContainer kills the process whose ID is in a container's init.pid, if its cgroup has the container's ID in its name:
// after a reboot another process may have the process ID.
func killContainer(file string) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read a container's process id: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return nil // a crash cut the file short: the container never ran
	}
	identity, err := process.Identify(pid)
	if err != nil {
		return nil // gone
	}
	cgroups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil || !bytes.Contains(cgroups, []byte(filepath.Base(filepath.Dir(file)))) {
		return nil
	}
	return identity.End(0)
}

// RemoveContainers deletes the records of containers of a node's containerd, and thereby their file systems. Images stay.
// containerd must run.
func RemoveContainers(ctx context.Context, l host.Layout, n host.Node) error {
	const timeout = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		ids, err := ctr(ctx, l, n, "containers", "list", "--quiet")
		if err != nil {
			return err
		}
		names := strings.Fields(ids)
		if len(names) == 0 {
			return nil
		}
		// A container cannot be deleted until its killed task has ended.
		_, _ = ctr(ctx, l, n, append([]string{"tasks", "delete", "--force"}, names...)...)
		if _, err = ctr(ctx, l, n, append([]string{"containers", "delete"}, names...)...); err == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("containers are still there after %s: %w", timeout, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ctr runs containerd's own client against a node's containerd.
func ctr(ctx context.Context, l host.Layout, n host.Node, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "ctr", append([]string{"--address", socket(l, n), "--namespace", "k8s.io", "--timeout", "5s"}, args...)...)
	output, err := process.Run(cmd)
	if err != nil {
		return "", fmt.Errorf("ctr %s: %w", strings.Join(args[:min(2, len(args))], " "), err)
	}
	return output, nil
}

// RemoveFiles unmounts and deletes the files of kubelets and containerds, except images. None may run.
func RemoveFiles(l host.Layout) error {
	errs := []error{unmountBelow(l.Cluster())}
	paths := []string{l.Cluster("cni"), podLogs(l)}
	for _, n := range host.Nodes {
		paths = append(paths, folder(l, n, "kubelet"), stateDir(l, n), folder(l, n, "containerd", "runc"), socket(l, n), socket(l, n)+".ttrpc")
	}
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			errs = append(errs, fmt.Errorf("remove %s: %w", path, err))
		}
	}
	errs = append(errs, removeLogLinks(l), removeNetworkResults(), removeSockets(), removeCgroups())
	for _, folder := range emptied {
		_ = os.Remove(folder) // fails if others keep files there
	}
	return errors.Join(errs...)
}

// LosePower removes what a machine that loses its power has no longer: mounts with the memory that they hold, and what
// containerd keeps in /run elsewhere. Neither kubelet nor containerd nor a container may run.
func LosePower(l host.Layout, n host.Node) error {
	errs := []error{unmountBelow(folder(l, n))}
	for _, path := range []string{stateDir(l, n), folder(l, n, "containerd", "runc")} {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}

// Shims is the argument that the shims of a node's containers have, and no other process.
func Shims(l host.Layout, n host.Node) string { return socket(l, n) }

// unmountBelow detaches every mount below dir, the last one first.
func unmountBelow(dir string) error {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("list mounts: %w", err)
	}
	var errs []error
	for _, point := range slices.Backward(mountsBelow(string(data), dir)) {
		if err := unix.Unmount(point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EINVAL) {
			errs = append(errs, fmt.Errorf("unmount %s: %w", point, err))
		}
	}
	return errors.Join(errs...)
}

// mountsBelow picks the mount points below dir from the text of /proc/self/mountinfo, in their order.
func mountsBelow(mountinfo, dir string) []string {
	const pointField = 4
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var points []string
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) <= pointField {
			continue
		}
		if point := unescape.Replace(fields[pointField]); strings.HasPrefix(point, dir+"/") {
			points = append(points, point)
		}
	}
	return points
}
