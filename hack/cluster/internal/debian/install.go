// Package host looks at the machine that the cluster is to run on, and mends what can be mended: it installs missing
// Debian packages. Everything else that is wrong it reports in one line that says what to do.
package debian

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// requirement is something that a Debian package provides.
type requirement struct {
	pkg string
	// file is a path, or the name of a program to be found in PATH.
	file string
	// static asks for a program without a loader, which works in an image made from scratch.
	static bool
}

var requirements = []requirement{
	{pkg: "containerd", file: "containerd"},
	{pkg: "containerd", file: "ctr"},
	{pkg: "containerd", file: "containerd-shim-runc-v2"},
	{pkg: "runc", file: "runc"},
	{pkg: "containernetworking-plugins", file: "/usr/lib/cni/bridge"},
	{pkg: "containernetworking-plugins", file: "/usr/lib/cni/host-local"},
	{pkg: "containernetworking-plugins", file: "/usr/lib/cni/loopback"},
	{pkg: "nftables", file: "nft"},
	{pkg: "conntrack", file: "conntrack"},
	{pkg: "buildah", file: "buildah"},
	{pkg: "busybox-static", file: "/bin/busybox", static: true},
	{pkg: "docker-registry", file: "docker-registry"},
	{pkg: "python3", file: "/usr/bin/python3"}, // For the client of caches that tests run.
}

// systemFolders are searched besides PATH: a root shell does not always have them.
const systemFolders = ":/usr/local/sbin:/usr/sbin:/sbin"

// CompletePath adds the system folders to PATH for this process and its children.
func CompletePath() error {
	if err := os.Setenv("PATH", os.Getenv("PATH")+systemFolders); err != nil {
		return fmt.Errorf("complete PATH: %w", err)
	}
	return nil
}

// MissingPackages lists the Debian packages whose files are not on this machine.
func MissingPackages() []string {
	var missing []string
	for _, n := range requirements {
		if !n.met() && (len(missing) == 0 || missing[len(missing)-1] != n.pkg) {
			missing = append(missing, n.pkg)
		}
	}
	return missing
}

func (n requirement) met() bool {
	if !filepath.IsAbs(n.file) {
		_, err := exec.LookPath(n.file)
		return err == nil
	}
	if n.static {
		return static(n.file)
	}
	_, err := os.Stat(n.file)
	return err == nil
}

// static tells whether the file is a program without a loader.
func static(path string) bool {
	file, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			return false
		}
	}
	return true
}

// policyFile forbids package scripts to start services while it is there.
const policyFile = "/usr/sbin/policy-rc.d"

const policy = "#!/bin/sh\n# Written by memcached-operator's local cluster while it installs packages; safe to remove.\nexit 101\n"

// Install installs Debian packages without starting their services.
func Install(ctx context.Context, packages []string) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("programs of the packages %s are missing, and there is no apt-get to install them: use Debian, or install what corresponds to them", strings.Join(packages, " "))
	}
	remove, err := forbidServices()
	if err != nil {
		return err
	}
	defer remove()
	if err := aptGet(ctx, append([]string{"install", "--yes", "--no-install-recommends"}, packages...)...); err == nil {
		return nil
	}
	// The lists may be missing or old.
	if err := aptGet(ctx, "update"); err != nil {
		return err
	}
	return aptGet(ctx, append([]string{"install", "--yes", "--no-install-recommends"}, packages...)...)
}

// forbidServices puts the policy in place, unless the machine has one, and returns how to take it away.
func forbidServices() (remove func(), err error) {
	have, err := os.ReadFile(policyFile)
	if err == nil && string(have) != policy {
		return func() {}, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", policyFile, err)
	}
	const executable = 0o755
	if err := os.WriteFile(policyFile, []byte(policy), executable); err != nil {
		return nil, fmt.Errorf("forbid packages to start services: %w", err)
	}
	return func() { _ = os.Remove(policyFile) }, nil
}

func aptGet(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-qq", "-o", "Dpkg::Use-Pty=0"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("apt-get %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problems.String()))
	}
	return nil
}
