package host

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestConflict(t *testing.T) {
	for name, test := range map[string]struct {
		a, b string
		want bool
	}{
		"the same":                   {"127.0.0.1:53", "127.0.0.1:53", true},
		"another address":            {"198.18.0.1:53", "127.0.0.53:53", false},
		"all addresses":              {"198.18.0.1:53", "0.0.0.0:53", true},
		"all addresses of both":      {"198.18.0.1:53", "[::]:53", true},
		"another port":               {"127.0.0.1:53", "127.0.0.1:54", false},
		"one of those that we cover": {"0.0.0.0:6443", "10.0.0.1:6443", true},
	} {
		if got := conflict(netip.MustParseAddrPort(test.a), netip.MustParseAddrPort(test.b)); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestCheckPortsNamesThePortAndItsProcess(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String()) // a connection is no listener
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	outgoing := []Port{{Process: "etcd", Protocol: "tcp", Address: netip.MustParseAddrPort(client.LocalAddr().String())}}
	if err := checkPorts(outgoing, func(string) bool { return false }); err != nil {
		t.Errorf("a connection was reported: %v", err)
	}
	ports := []Port{{Process: "etcd", Protocol: "tcp", Address: netip.MustParseAddrPort(listener.Addr().String())}}

	err = checkPorts(ports, func(string) bool { return false })
	if err == nil {
		t.Fatal("a port that is in use was not reported")
	}
	for _, want := range []string{"port " + strconv.Itoa(listener.Addr().(*net.TCPAddr).Port) + " (tcp, on 127.0.0.1)", "etcd", "process " + strconv.Itoa(os.Getpid())} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if err := checkPorts(ports, func(string) bool { return true }); err != nil {
		t.Errorf("the cluster's own listener was reported: %v", err)
	}
}

func TestCheckCgroupsKnowsBothVersions(t *testing.T) {
	write := func(t *testing.T, files map[string]string) string {
		root := t.TempDir()
		for name, content := range files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return root
	}
	for name, test := range map[string]struct {
		files   map[string]string
		missing string
	}{
		"version 2":                   {files: map[string]string{"cgroup.controllers": "cpuset cpu io memory hugetlb pids\n"}},
		"version 2 without memory":    {files: map[string]string{"cgroup.controllers": "cpuset cpu io pids\n"}, missing: "controllers memory "},
		"version 1":                   {files: map[string]string{"cpu/cgroup.procs": "", "cpuset/cgroup.procs": "", "memory/cgroup.procs": "", "pids/cgroup.procs": ""}},
		"version 1 without two":       {files: map[string]string{"cpu/cgroup.procs": "", "memory/cgroup.procs": ""}, missing: "controllers cpuset, pids "},
		"nothing mounted, says mount": {missing: "mount -t cgroup2"},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkCgroups(write(t, test.files))
			if test.missing == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if test.missing != "" && (err == nil || !strings.Contains(err.Error(), test.missing)) {
				t.Errorf("error is %v, want %q in it", err, test.missing)
			}
		})
	}
}

func TestCheckDiskSaysHowMuchIsMissing(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "not", "there", "yet")
	if err := checkDisk(folder, 1<<60); err == nil || !strings.Contains(err.Error(), "XDG_CACHE_HOME") {
		t.Errorf("error is %v", err)
	}
}
