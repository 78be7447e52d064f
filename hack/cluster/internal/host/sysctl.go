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

// settings are the kernel settings that pods need: the node forwards between them and the services, and
// kube-proxy's rules see what is switched inside the bridge.
var settings = map[string]string{
	"/proc/sys/net/ipv4/ip_forward":                "1",
	"/proc/sys/net/bridge/bridge-nf-call-iptables": "1",
}

// modules are the kernel modules behind them, loaded when the kernel does not have them built in.
var modules = []string{"br_netfilter", "overlay", "nf_tables", "nf_conntrack"}

// SetKernel sets what the cluster needs and remembers in file what was there before.
func SetKernel(file string) error {
	if _, err := os.Stat("/proc/sys/net/bridge"); errors.Is(err, fs.ErrNotExist) {
		for _, module := range modules {
			_ = exec.Command("modprobe", module).Run() // what is missing afterwards is reported below
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
		return fmt.Errorf("remember kernel settings: %w", err)
	}
	for path := range before {
		if err := os.WriteFile(path, []byte(settings[path]), 0o644); err != nil {
			return fmt.Errorf("change a kernel setting: %w", err)
		}
	}
	return nil
}

// RestoreKernel puts back what SetKernel changed.
func RestoreKernel(file string) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the kernel settings to restore: %w", err)
	}
	before := map[string]string{}
	if json.Unmarshal(data, &before) == nil { // a file cut short by a crash was written before anything was changed
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
