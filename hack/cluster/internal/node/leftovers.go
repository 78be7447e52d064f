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

// tasks is containerd's folder with one folder per running container.
func tasks(l host.Layout) string {
	return filepath.Join(stateDir(l), "io.containerd.runtime.v2.task", "k8s.io")
}

// KillContainers ends every container of the cluster, whether containerd still runs or not.
func KillContainers(l host.Layout) error {
	files, err := filepath.Glob(filepath.Join(tasks(l), "*", "init.pid"))
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	var errs []error
	for _, file := range files {
		if err := killContainer(file); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// killContainer ends the process named in a container's init.pid, provided that its cgroup carries the container's id:
// after a reboot the number may belong to somebody else.
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
		return nil // a file cut short by a crash: the container never ran
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

// RemoveContainers deletes containerd's records of containers, and with them their file systems; images stay.
// containerd must be running.
func RemoveContainers(ctx context.Context, l host.Layout) error {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		ids, err := ctr(ctx, l, "containers", "list", "--quiet")
		if err != nil {
			return err
		}
		names := strings.Fields(ids)
		if len(names) == 0 {
			return nil
		}
		// A task that has just been killed holds its container for a moment.
		_, _ = ctr(ctx, l, append([]string{"tasks", "delete", "--force"}, names...)...)
		if _, err = ctr(ctx, l, append([]string{"containers", "delete"}, names...)...); err == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("containers are still there after %s: %w", patience, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ctr runs containerd's own client against the cluster's containerd.
func ctr(ctx context.Context, l host.Layout, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "ctr", append([]string{"--address", l.ContainerdSocket(), "--namespace", "k8s.io", "--timeout", "5s"}, args...)...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ctr %s: %w: %s", strings.Join(args[:min(2, len(args))], " "), err, bytes.TrimSpace(output))
	}
	return string(output), nil
}

// RemoveFiles unmounts and deletes what kubelet and containerd keep for a run: everything but images.
// Neither may be running.
func RemoveFiles(l host.Layout) error {
	errs := []error{unmountBelow(l.Cluster())}
	for _, path := range []string{l.Cluster("kubelet"), stateDir(l), l.Cluster("containerd", "runc"), l.CNI(), podLogs(l), l.ContainerdSocket(), l.ContainerdSocket() + ".ttrpc"} {
		if err := os.RemoveAll(path); err != nil {
			errs = append(errs, fmt.Errorf("remove %s: %w", path, err))
		}
	}
	errs = append(errs, removeLogLinks(l), removeNetworkResults(), removeSockets(), removeCgroups())
	removeEmptied()
	return errors.Join(errs...)
}

// unmountBelow detaches every mount below dir, the deepest first.
func unmountBelow(dir string) error {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("list mounts: %w", err)
	}
	var errs []error
	points := mountsBelow(string(data), dir)
	for _, point := range slices.Backward(points) {
		if err := unix.Unmount(point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EINVAL) {
			errs = append(errs, fmt.Errorf("unmount %s: %w", point, err))
		}
	}
	return errors.Join(errs...)
}

// mountsBelow picks the mount points below dir out of the text of /proc/self/mountinfo, in the order mounted.
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
