package host

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindWalksUpToTheCheckout(t *testing.T) {
	repo := t.TempDir()
	for _, folder := range []string{"hack/tools/kube", "hack/cluster/internal"} {
		if err := os.MkdirAll(filepath.Join(repo, folder), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(repo, "hack/tools/kube/go.mod"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", "/cache")
	t.Chdir(filepath.Join(repo, "hack/cluster/internal"))
	l, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	if l.Repo != repo || l.Kubeconfig() != "/cache/memcached-operator/cluster/admin.kubeconfig" {
		t.Errorf("found %+v", l)
	}
	t.Chdir(t.TempDir())
	if _, err := Find(); err == nil || !strings.Contains(err.Error(), "checkout") {
		t.Errorf("outside of a checkout the error is %v", err)
	}
}

func TestFindRefusesACacheTooDeepForSockets(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/"+strings.Repeat("deep/", 20))
	if _, err := Find(); err == nil || !strings.Contains(err.Error(), "XDG_CACHE_HOME") {
		t.Errorf("error is %v", err)
	}
}

func TestEveryAddressIsInTheTestRangeOrOnLoopback(t *testing.T) {
	everything := netip.MustParsePrefix(TestRange)
	for _, prefix := range []string{PodCIDR, ServiceCIDR} {
		if !everything.Contains(netip.MustParsePrefix(prefix).Addr()) {
			t.Errorf("%s is outside %s", prefix, TestRange)
		}
	}
	if netip.MustParsePrefix(PodCIDR).Overlaps(netip.MustParsePrefix(ServiceCIDR)) {
		t.Error("pods and services overlap")
	}
	if !netip.MustParsePrefix(ServiceCIDR).Contains(netip.MustParseAddr(APIServiceIP)) {
		t.Error("the API's ClusterIP is no service address")
	}
}
