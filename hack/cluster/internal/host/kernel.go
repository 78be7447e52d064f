package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
)

// settings are the kernel settings that pods need: the node forwards packets between pods and services, and kube-proxy's
// rules apply to traffic within the bridge.
var settings = map[string]string{
	"/proc/sys/net/ipv4/ip_forward":                "1",
	"/proc/sys/net/bridge/bridge-nf-call-iptables": "1",
}

// modules are the kernel modules of these settings and of containers. They are loaded unless they are built in.
var modules = []string{"br_netfilter", "overlay", "nf_tables", "nf_conntrack"}

// setKernel changes the settings and records in file what they were before.
func setKernel(file string) error {
	if _, err := os.Stat("/proc/sys/net/bridge"); errors.Is(err, fs.ErrNotExist) {
		for _, module := range modules {
			_ = exec.Command("modprobe", module).Run() // a missing setting is reported below
		}
	}
	before := map[string]string{}
	for path, want := range settings {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the kernel has no %s: load the module br_netfilter (modprobe br_netfilter)", path)
		}
		if err != nil {
			return fmt.Errorf("read a kernel setting: %w", err)
		}
		if have := strings.TrimSpace(string(data)); have != want {
			before[path] = have
		}
	}
	if len(before) == 0 {
		return nil
	}
	data, err := json.Marshal(before)
	if err != nil {
		return fmt.Errorf("encode kernel settings: %w", err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return fmt.Errorf("record kernel settings: %w", err)
	}
	for path := range before {
		if err := os.WriteFile(path, []byte(settings[path]), 0o644); err != nil {
			return fmt.Errorf("change a kernel setting: %w", err)
		}
	}
	return nil
}

// restoreKernel undoes setKernel.
func restoreKernel(file string) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the kernel settings to restore: %w", err)
	}
	before := map[string]string{}
	if json.Unmarshal(data, &before) == nil { // a file that a crash cut short was written before any change
		for path, value := range before {
			if _, known := settings[path]; !known {
				continue
			}
			if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
				return fmt.Errorf("restore a kernel setting: %w", err)
			}
		}
	}
	return os.Remove(file)
}
