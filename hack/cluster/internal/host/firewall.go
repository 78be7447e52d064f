package host

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// forwardRules accept the pods' packets where the firewall forwards nothing by default, as Docker configures it. The kernel
// applies the firewall to traffic within the bridge too.
var forwardRules = []string{
	"FORWARD -i " + Bridge + " -j ACCEPT",
	"FORWARD -o " + Bridge + " -j ACCEPT",
}

// iptables fails on a machine without iptables and with a kernel that does not support it: neither filters anything.
func iptables(args string) (string, error) {
	return process.Run(exec.Command("iptables", strings.Fields(args)...))
}

// openFirewall adds the rules if the firewall's default is to drop.
func openFirewall() error {
	policy, err := iptables("-S FORWARD")
	if err != nil || !strings.Contains(policy, "-P FORWARD DROP") {
		return nil //nolint:nilerr // nothing is filtered
	}
	for _, rule := range forwardRules {
		if _, err := iptables("-C " + rule); err == nil {
			continue
		}
		if _, err := iptables("-I " + rule); err != nil {
			return fmt.Errorf("add the firewall rule %q: %w", rule, err)
		}
	}
	return nil
}

// closeFirewall removes the rules, however often each is there.
func closeFirewall() error {
	rules, err := iptables("-S FORWARD")
	if err != nil {
		return nil //nolint:nilerr // nothing can have been added
	}
	var errs []error
	for _, rule := range forwardRules {
		for range strings.Count(rules, rule) {
			if _, err := iptables("-D " + rule); err != nil {
				errs = append(errs, fmt.Errorf("remove the firewall rule %q: %w", rule, err))
			}
		}
	}
	return errors.Join(errs...)
}
