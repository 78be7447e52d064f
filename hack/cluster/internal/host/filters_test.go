package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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

func TestRemoveFiltersRunsNothingUnlessTheEngineWasStarted(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	ran := filepath.Join(bin, "ran")
	script := "#!/bin/sh\necho \"$0\" >>" + ran + "\n"
	for _, program := range []string{"iptables", "iptables-restore", "ipset"} {
		if err := os.WriteFile(filepath.Join(bin, program), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	started := filepath.Join(t.TempDir(), "filters")
	if err := RemoveFilters(started); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(ran); err == nil {
		t.Errorf("ran %s", content)
	}
	if err := AwaitFilters(started); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(ran); err != nil {
		t.Fatal(err)
	}
	if err := RemoveFilters(started); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); err != nil {
		t.Error("it ran nothing although the engine was started")
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("the record of the start is still there")
	}
}
