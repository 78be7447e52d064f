package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// The names of what the network policy engine makes: chains in the filter table of iptables, and sets of ipset. The engine
// runs iptables, iptables-save and iptables-restore, so these functions run them too: whether their rules are those of
// nftables or the legacy ones is one choice for all of them (update-alternatives --config iptables).
var (
	filterChain = regexp.MustCompile(`^KUBE-(ROUTER-(INPUT|FORWARD|OUTPUT)|NWPLCY-(DEFAULT|[A-Z2-7]{16})|POD-FW-[A-Z2-7]{16})$`)
	filterSet   = regexp.MustCompile(`^(KUBE-SRC|KUBE-DST|TMP)-[A-Z2-7]{16}$`)
)

// forwardChain is the chain that decides about packets between pods.
const forwardChain = "KUBE-ROUTER-FORWARD"

// CheckFilters returns an error if another network policy engine has filters on this machine, for example that of k3s. They have the
// names of ours, so the two would change each other's, and nobody could tell which ones to remove.
func CheckFilters(started string) error {
	if ours, err := ourFilters(started); ours || err != nil {
		return err
	}
	rules, err := iptables("-S")
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("look for filters of another network policy engine: %w", err)
	}
	for line := range strings.Lines(rules) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "-N" && filterChain.MatchString(fields[1]) {
			return fmt.Errorf("another network policy engine, such as that of k3s or a kube-router, has the chain %s on this machine: "+
				"remove that engine and its chains, or leave out --with-network-policies", fields[1])
		}
	}
	return nil
}

// ourFilters reports whether the file started records that the engine was started since this machine was.
func ourFilters(started string) (bool, error) {
	recorded, err := os.ReadFile(started)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read whether the network policy engine was started: %w", err)
	}
	boot, err := process.BootID()
	return err == nil && string(recorded) == boot, err
}

// AwaitFilters prepares for the start of the network policy engine: it removes the filters of an earlier run, which look like those
// that FiltersReady waits for, and records in the file started that there will be filters. It records nothing if the machine cannot
// have any.
func AwaitFilters(started string) error {
	if err := clearFilters(); err != nil {
		return err
	}
	boot, err := process.BootID()
	if err != nil {
		return err
	}
	if err := os.WriteFile(started, []byte(boot), Public); err != nil {
		return fmt.Errorf("record the start of the network policy engine: %w", err)
	}
	return nil
}

// FiltersReady returns nil when the filters of all pods are in the kernel. The engine writes them in one step, and ends
// each of its chains with a rule that accepts what they have allowed.
func FiltersReady() error {
	rules, err := iptables("-S " + forwardChain)
	if err != nil {
		return fmt.Errorf("list the filters of pods: %w", err)
	}
	return completeFilters(rules)
}

// completeFilters checks the last of the rules of forwardChain.
func completeFilters(rules string) error {
	if !strings.HasSuffix(strings.TrimSpace(rules), "--mark 0x20000/0x20000 -j ACCEPT") {
		return fmt.Errorf("the filters of pods are not complete: %s is %q", forwardChain, rules)
	}
	return nil
}

// RemoveFilters removes the rules, chains and sets of the network policy engine, and nothing of others. It leaves those of another
// engine, which have the same names: it does nothing unless the file started records that ours was started since this machine was.
func RemoveFilters(started string) error {
	ours, err := ourFilters(started)
	if err != nil {
		return err
	}
	if ours {
		if err := clearFilters(); err != nil {
			return err
		}
	}
	return os.RemoveAll(started)
}

func clearFilters() error {
	rules, err := iptables("-S")
	if err != nil {
		return fmt.Errorf("list the filters of pods: %w", err)
	}
	restore := exec.Command("iptables-restore", "--noflush", "--wait") // all lines or none, and nothing but these lines
	restore.Stdin = strings.NewReader(filterRemoval(rules))
	if _, err := process.Run(restore); err != nil {
		return fmt.Errorf("remove the filters of pods: %w", err)
	}
	sets, err := process.Run(exec.Command("ipset", "list", "-name"))
	if err != nil {
		return fmt.Errorf("list the sets of pods: %w", err)
	}
	const patience = 10 * time.Second
	return destroySets(filterSets(sets), patience)
}

// destroySets removes sets. The kernel may count a set as used for a moment after the last rule with it was removed.
func destroySets(sets []string, patience time.Duration) error {
	var errs []error
	err := wait.PollUntilContextTimeout(context.Background(), patience/50, patience, true, func(context.Context) (bool, error) {
		errs = nil
		sets = slices.DeleteFunc(sets, func(set string) bool {
			_, err := process.Run(exec.Command("ipset", "destroy", set))
			if err != nil {
				errs = append(errs, fmt.Errorf("remove the set %s: %w", set, err))
			}
			return err == nil
		})
		return len(sets) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("sets of pods cannot be removed for %s; `iptables-save` shows rules that use them: %w", patience, errors.Join(errs...))
	}
	return nil
}

// filterRemoval turns the output of iptables -S into input of iptables-restore that removes the engine's chains and the
// jumps to them. A chain can be deleted when it is empty and no rule jumps to it.
func filterRemoval(rules string) string {
	var jumps, flushes, deletions []string
	for line := range strings.Lines(rules) {
		line = strings.TrimSpace(line)
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		command, chain := fields[0], fields[1]
		switch engines := filterChain.MatchString(chain); {
		case command == "-N" && engines:
			flushes = append(flushes, "-F "+chain)
			deletions = append(deletions, "-X "+chain)
		case command == "-A" && !engines && filterChain.MatchString(target(line)):
			jumps = append(jumps, "-D"+strings.TrimPrefix(line, "-A"))
		}
	}
	commands := slices.Concat([]string{"*filter"}, jumps, flushes, deletions, []string{"COMMIT", ""})
	return strings.Join(commands, "\n")
}

// target returns the chain that a rule jumps to, and "" if the rule does not end with a jump.
func target(rule string) string {
	fields := strings.Fields(rule)
	if n := len(fields); n > 1 && fields[n-2] == "-j" {
		return fields[n-1]
	}
	return ""
}

// filterSets picks the engine's sets from a list of names, one per line.
func filterSets(names string) []string {
	return slices.DeleteFunc(strings.Fields(names), func(name string) bool { return !filterSet.MatchString(name) })
}
