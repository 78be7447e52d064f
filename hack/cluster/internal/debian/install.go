// Package debian installs Debian packages on this machine. It also downloads packages and unpacks them without installing
// them, which needs no root and runs none of their scripts. It does not decide what they are used for.
package debian

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// requirement is a file that a Debian package provides.
type requirement struct {
	pkg string
	// file is a path, or the name of a program in PATH.
	file string
	// static asks for a program without a loader, which also runs in an image without libraries.
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
	{pkg: "iptables", file: "iptables-restore"},
	{pkg: "ipset", file: "ipset"},
	{pkg: "buildah", file: "buildah"},
	{pkg: "busybox-static", file: "/bin/busybox", static: true},
	{pkg: "docker-registry", file: "docker-registry"},
	{pkg: "python3", file: "/usr/bin/python3"}, // for pymemcache, which tests use
}

// CompletePath adds the folders of system programs to PATH for this process and its children: the shell of root does not
// always have them.
func CompletePath() error {
	return os.Setenv("PATH", os.Getenv("PATH")+":/usr/local/sbin:/usr/sbin:/sbin")
}

// MissingPackages lists the Debian packages whose files are not on this machine.
func MissingPackages() []string {
	var missing []string
	for _, r := range requirements {
		if !r.met() && !slices.Contains(missing, r.pkg) {
			missing = append(missing, r.pkg)
		}
	}
	return missing
}

func (r requirement) met() bool {
	if !filepath.IsAbs(r.file) {
		_, err := exec.LookPath(r.file)
		return err == nil
	}
	if r.static {
		program, err := elf.Open(r.file)
		if err != nil {
			return false
		}
		defer program.Close()
		return !slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	}
	_, err := os.Stat(r.file)
	return err == nil
}

// policyFile keeps package scripts from starting services.
const policyFile = "/usr/sbin/policy-rc.d"

const policy = "#!/bin/sh\n# Written by memcached-operator's local cluster while it installs packages; safe to remove.\nexit 101\n"

// Install installs Debian packages without starting their services.
func Install(ctx context.Context, packages []string) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("programs of the packages %s are missing, and there is no apt-get to install them: use Debian, or install their equivalents", strings.Join(packages, " "))
	}
	remove, err := forbidServices()
	if err != nil {
		return err
	}
	defer remove()
	install := append([]string{"install", "--yes", "--no-install-recommends"}, packages...)
	if aptGet(ctx, install...) == nil {
		return nil
	}
	// The package lists may be absent or old.
	if err := aptGet(ctx, "update"); err != nil {
		return err
	}
	return aptGet(ctx, install...)
}

// forbidServices writes the policy, unless the machine has one, and returns how to remove it.
func forbidServices() (remove func(), err error) {
	have, err := os.ReadFile(policyFile)
	if err == nil && string(have) != policy {
		return func() {}, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	const executable = 0o755
	if err := os.WriteFile(policyFile, []byte(policy), executable); err != nil {
		return nil, fmt.Errorf("keep packages from starting services: %w", err)
	}
	return func() { _ = os.Remove(policyFile) }, nil
}

func aptGet(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-qq", "-o", "Dpkg::Use-Pty=0"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if _, err := process.Run(cmd); err != nil {
		return fmt.Errorf("apt-get %s: %w", strings.Join(args, " "), err)
	}
	return nil
}
