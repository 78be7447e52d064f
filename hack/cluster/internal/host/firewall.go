package host

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// forwardRules let the pods' packets pass a firewall that forwards nothing by default, as Docker sets one up.
// The kernel shows it what is switched inside the bridge too.
var forwardRules = [][]string{
	{"FORWARD", "-i", Bridge, "-j", "ACCEPT"},
	{"FORWARD", "-o", Bridge, "-j", "ACCEPT"},
}

// OpenFirewall adds the rules where the firewall's default is to drop, and does nothing elsewhere.
func OpenFirewall() error {
	iptables, err := exec.LookPath("iptables")
	if err != nil {
		return nil // no iptables, no such default
	}
	policy, err := exec.Command(iptables, "-S", "FORWARD").Output()
	if err != nil || !strings.Contains(string(policy), "-P FORWARD DROP") {
		return nil //nolint:nilerr // iptables without kernel support filters nothing
	}
	for _, rule := range forwardRules {
		if exec.Command(iptables, append([]string{"-C"}, rule...)...).Run() == nil {
			continue
		}
		if output, err := exec.Command(iptables, append([]string{"-I"}, rule...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("let pods through the firewall: %w: %s", err, strings.TrimSpace(string(output)))
		}
	}
	return nil
}

// CloseFirewall removes the rules again, however many there are.
func CloseFirewall() error {
	iptables, err := exec.LookPath("iptables")
	if err != nil {
		return nil
	}
	rules, err := exec.Command(iptables, "-S", "FORWARD").Output()
	if err != nil {
		return nil //nolint:nilerr // nothing can have been added
	}
	var errs []error
	for _, rule := range forwardRules {
		for range strings.Count(string(rules), strings.Join(rule, " ")) {
			if output, err := exec.Command(iptables, append([]string{"-D"}, rule...)...).CombinedOutput(); err != nil {
				errs = append(errs, fmt.Errorf("take a rule out of the firewall: %w: %s", err, strings.TrimSpace(string(output))))
			}
		}
	}
	return errors.Join(errs...)
}
