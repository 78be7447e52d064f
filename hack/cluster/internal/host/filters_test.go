package host

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// savedFilters is what iptables -S prints on a machine with the network policy engine and with rules of others.
const savedFilters = `-P INPUT ACCEPT
-P FORWARD DROP
-N KUBE-NWPLCY-3YNVZWWGX3UQQ4VQ
-N KUBE-NWPLCY-DEFAULT
-N KUBE-POD-FW-ABCDEFGH234567ZZ
-N KUBE-POD-FW-notes
-N KUBE-ROUTER-FORWARD
-N KUBE-ROUTER-INPUT
-N KUBE-SERVICES
-A INPUT -m comment --comment "kube-router netpol - 4IA2OSFRMVNDXBVV" -j KUBE-ROUTER-INPUT
-A INPUT -m comment --comment "not for -j KUBE-ROUTER-INPUT" -j KUBE-SERVICES
-A INPUT -j LOG --log-prefix KUBE-ROUTER-INPUT
-A FORWARD -m comment --comment "kube-router netpol - TEMCG2JMHZYE7H7T" -j KUBE-ROUTER-FORWARD
-A FORWARD -i mc0 -j ACCEPT
-A KUBE-POD-FW-ABCDEFGH234567ZZ -d 198.18.0.5/32 -j KUBE-NWPLCY-3YNVZWWGX3UQQ4VQ
-A KUBE-ROUTER-FORWARD -d 198.18.0.5/32 -m comment --comment "rule to jump" -j KUBE-POD-FW-ABCDEFGH234567ZZ
-A KUBE-ROUTER-FORWARD -m comment --comment "rule to explicitly ACCEPT traffic that comply to network policies" -m mark --mark 0x20000/0x20000 -j ACCEPT
-A KUBE-SERVICES -j DROP
`

func TestRemovalOfFiltersLeavesTheRulesOfOthers(t *testing.T) {
	const want = `*filter
-D INPUT -m comment --comment "kube-router netpol - 4IA2OSFRMVNDXBVV" -j KUBE-ROUTER-INPUT
-D FORWARD -m comment --comment "kube-router netpol - TEMCG2JMHZYE7H7T" -j KUBE-ROUTER-FORWARD
-F KUBE-NWPLCY-3YNVZWWGX3UQQ4VQ
-F KUBE-NWPLCY-DEFAULT
-F KUBE-POD-FW-ABCDEFGH234567ZZ
-F KUBE-ROUTER-FORWARD
-F KUBE-ROUTER-INPUT
-X KUBE-NWPLCY-3YNVZWWGX3UQQ4VQ
-X KUBE-NWPLCY-DEFAULT
-X KUBE-POD-FW-ABCDEFGH234567ZZ
-X KUBE-ROUTER-FORWARD
-X KUBE-ROUTER-INPUT
COMMIT
`
	if got := filterRemoval(savedFilters); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRemovalOfFiltersWithoutFiltersChangesNothing(t *testing.T) {
	if got := filterRemoval("-P INPUT ACCEPT\n-N OTHER\n-A INPUT -j OTHER\n"); got != "*filter\nCOMMIT\n" {
		t.Errorf("got %q", got)
	}
}

func TestOnlySetsOfTheEngineAreItsSets(t *testing.T) {
	names := "KUBE-SRC-3YNVZWWGX3UQQ4VQ\nblocked\nKUBE-DST-3YNVZWWGX3UQQ4VQ\nTMP-hosts\nTMP-7LZ5ILPUEZVUAYXQ\nKUBE-LOOP-BACK\n"
	want := []string{"KUBE-SRC-3YNVZWWGX3UQQ4VQ", "KUBE-DST-3YNVZWWGX3UQQ4VQ", "TMP-7LZ5ILPUEZVUAYXQ"}
	if got := filterSets(names); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFiltersAreCompleteWithTheirLastRule(t *testing.T) {
	var rules []string
	for line := range strings.Lines(savedFilters) {
		if strings.HasPrefix(line, "-N KUBE-ROUTER-FORWARD") || strings.HasPrefix(line, "-A KUBE-ROUTER-FORWARD") {
			rules = append(rules, line)
		}
	}
	for n := range rules {
		if completeFilters(strings.Join(rules[:n], "")) == nil {
			t.Errorf("complete with %d of %d lines", n, len(rules))
		}
	}
	if err := completeFilters(strings.Join(rules, "")); err != nil {
		t.Error(err)
	}
}

// programs puts shell scripts with these bodies in place of all programs. A script finds the folder in $bin, and its last call in the
// file of its name with ".ran".
func programs(t *testing.T, bodies map[string]string) (bin string) {
	t.Helper()
	bin = t.TempDir()
	t.Setenv("PATH", bin)
	t.Setenv("bin", bin)
	for name, body := range bodies {
		script := "#!/bin/sh\necho \"$@\" >$bin/" + name + ".ran\n" + body + "\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

func TestFiltersAreRemovedOnlyIfTheEngineWasStarted(t *testing.T) {
	for name, test := range map[string]struct {
		record  func(file string) error
		removes bool
	}{
		"never":                      {record: func(string) error { return nil }},
		"before the machine's start": {record: func(file string) error { return os.WriteFile(file, []byte("another boot ID"), 0o600) }},
		"at an unknown start":        {record: func(file string) error { return os.WriteFile(file, nil, 0o600) }},
		"since":                      {record: AwaitFilters, removes: true},
	} {
		t.Run(name, func(t *testing.T) {
			bin := programs(t, map[string]string{"iptables": "", "iptables-restore": "", "ipset": ""})
			started, ran := filepath.Join(t.TempDir(), "filters"), filepath.Join(bin, "iptables-restore.ran")
			if err := test.record(started); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(ran); err != nil {
				t.Fatal(err)
			}
			if err := RemoveFilters(started); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(ran); (err == nil) != test.removes {
				t.Errorf("removed: %t, want %t", err == nil, test.removes)
			}
			if _, err := os.Stat(started); err == nil {
				t.Error("the record of the start is still there")
			}
		})
	}
}

func TestFiltersOfAnotherEngineAreFound(t *testing.T) {
	bin := programs(t, map[string]string{"iptables": "while read -r line; do echo \"$line\"; done <$bin/rules"})
	started := filepath.Join(t.TempDir(), "filters")
	check := func(rules string) error {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, "rules"), []byte(rules), 0o600); err != nil {
			t.Fatal(err)
		}
		return CheckFilters(started)
	}
	if err := check("-P INPUT ACCEPT\n-N KUBE-SERVICES\n"); err != nil {
		t.Error(err)
	}
	if err := check(savedFilters); err == nil || !strings.Contains(err.Error(), "KUBE-NWPLCY-3YNVZWWGX3UQQ4VQ") {
		t.Errorf("the chains of another engine were accepted: %v", err)
	}
	boot, err := process.BootID()
	if err := errors.Join(err, os.WriteFile(started, []byte(boot), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := check(savedFilters); err != nil {
		t.Errorf("its own chains were refused: %v", err)
	}
	programs(t, nil)
	if err := CheckFilters(filepath.Join(t.TempDir(), "filters")); err != nil {
		t.Errorf("a machine without iptables has no chains, but: %v", err)
	}
}

func TestASetIsRemovedWhenItIsNoLongerInUse(t *testing.T) {
	// The set busy is in use until ipset has been called twice about it, and the set used always.
	programs(t, map[string]string{"ipset": `case "$2" in
		busy) [ -e $bin/once ] && exit 0; : >$bin/once; echo "Set cannot be destroyed: it is in use" >&2; exit 1;;
		used) echo "Set cannot be destroyed: it is in use" >&2; exit 1;;
	esac`})
	if err := destroySets([]string{"busy", "free"}, time.Minute); err != nil {
		t.Error(err)
	}
	err := destroySets([]string{"free", "used"}, 100*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "remove the set used") || !strings.Contains(err.Error(), "it is in use") || strings.Contains(err.Error(), "free") {
		t.Errorf("error is %v", err)
	}
}
