package host

import (
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The main thread never ends, and /proc/net is about its network: no test may run on it.
func init() { runtime.LockOSThread() }

// inOwnNetwork moves the test to a network namespace of its own. Its thread ends with it, so that no other test runs there.
func inOwnNetwork(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, as the local cluster does")
	}
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("needs a network namespace of its own: %v", err)
	}
}

// A pod whose hardware address is lower than the bridge's must not change the bridge's: what other pods send to the old
// address would be lost.
func TestTheBridgeKeepsItsAddressAsPodsComeAndGo(t *testing.T) {
	inOwnNetwork(t)
	for range 2 { // The second time it is there already.
		bridge, err := ensureBridge()
		if err != nil {
			t.Fatal(err)
		}
		pod := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "pod", MasterIndex: bridge.Attrs().Index, HardwareAddr: []byte{2, 0, 0, 0, 0, 1}}, PeerName: "peer"}
		if err := netlink.LinkAdd(pod); err != nil {
			t.Fatal(err)
		}
		expectMAC(t, "with a pod")
		if err := netlink.LinkDel(pod); err != nil {
			t.Fatal(err)
		}
		expectMAC(t, "after the pod has gone")
	}
}

func expectMAC(t *testing.T, when string) {
	t.Helper()
	bridge, err := netlink.LinkByName(Bridge)
	if err != nil {
		t.Fatal(err)
	}
	if got := bridge.Attrs().HardwareAddr.String(); got != BridgeMAC.String() {
		t.Errorf("%s the bridge has the address %s, want %s", when, got, BridgeMAC)
	}
}
