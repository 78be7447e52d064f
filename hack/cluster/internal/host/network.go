// Package network makes and removes what the cluster adds to this machine's network: a bridge, two routes and a few
// kernel settings. Everything is in 198.18.0.0/15, and nothing of it leaves the machine.
package host

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
)

// AddNetwork makes the bridge and the routes, unless they are there.
func AddNetwork() error {
	bridge, err := ensureBridge()
	if err != nil {
		return err
	}
	_, everything, _ := net.ParseCIDR(TestRange)
	// Without the blackhole, packets to addresses that nobody has would leave by the default route.
	if err := netlink.RouteReplace(&netlink.Route{Dst: everything, Type: syscall.RTN_BLACKHOLE}); err != nil {
		return fmt.Errorf("route %s nowhere: %w", TestRange, err)
	}
	_, services, _ := net.ParseCIDR(ServiceCIDR)
	// Without this route a connect to a ClusterIP from the node fails with EINVAL before kube-proxy's rules see it.
	toServices := &netlink.Route{Dst: services, LinkIndex: bridge.Attrs().Index, Src: net.ParseIP(NodeIP), Scope: netlink.SCOPE_LINK}
	if err := netlink.RouteReplace(toServices); err != nil {
		return fmt.Errorf("route %s to %s: %w", ServiceCIDR, Bridge, err)
	}
	return nil
}

// ensureBridge returns the bridge, up and with the node's address.
func ensureBridge() (netlink.Link, error) {
	err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: Bridge}})
	if err != nil && !errors.Is(err, syscall.EEXIST) {
		return nil, fmt.Errorf("make the bridge %s: %w", Bridge, err)
	}
	bridge, err := netlink.LinkByName(Bridge)
	if err != nil {
		return nil, fmt.Errorf("find the bridge %s: %w", Bridge, err)
	}
	if err := fixMAC(bridge); err != nil {
		return nil, err
	}
	_, pods, _ := net.ParseCIDR(PodCIDR)
	address := &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(NodeIP), Mask: pods.Mask}}
	if err := netlink.AddrReplace(bridge, address); err != nil {
		return nil, fmt.Errorf("give %s the address %s: %w", Bridge, NodeIP, err)
	}
	if err := netlink.LinkSetUp(bridge); err != nil {
		return nil, fmt.Errorf("bring %s up: %w", Bridge, err)
	}
	return bridge, nil
}

// fixMAC gives the bridge a hardware address of its own. Without one it takes the lowest of the pods' addresses, which
// changes as pods come and go, and what other pods send to the old one is lost: DNS queries, above all.
func fixMAC(bridge netlink.Link) error {
	address, err := net.ParseMAC(BridgeMAC)
	if err != nil {
		return fmt.Errorf("read the hardware address of %s: %w", Bridge, err)
	}
	if bytes.Equal(bridge.Attrs().HardwareAddr, address) {
		return nil
	}
	if err := netlink.LinkSetHardwareAddr(bridge, address); err != nil {
		return fmt.Errorf("give %s the hardware address %s: %w", Bridge, address, err)
	}
	return nil
}

// RemoveNetwork removes the bridge (its routes and the pods' ends of it go with it), the blackhole and kube-proxy's tables.
func RemoveNetwork() error {
	var errs []error
	bridge, err := netlink.LinkByName(Bridge)
	switch {
	case errors.As(err, &netlink.LinkNotFoundError{}):
	case err != nil:
		errs = append(errs, fmt.Errorf("find the bridge %s: %w", Bridge, err))
	default:
		if err := netlink.LinkDel(bridge); err != nil {
			errs = append(errs, fmt.Errorf("remove the bridge %s: %w", Bridge, err))
		}
	}
	_, everything, _ := net.ParseCIDR(TestRange)
	err = netlink.RouteDel(&netlink.Route{Dst: everything, Type: syscall.RTN_BLACKHOLE})
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		errs = append(errs, fmt.Errorf("remove the route for %s: %w", TestRange, err))
	}
	return errors.Join(errs...)
}

// RemoveProxyTables deletes the two nftables tables that kube-proxy leaves behind.
func RemoveProxyTables() error {
	nft, err := exec.LookPath("nft")
	if err != nil {
		return nil // without nft there never was a kube-proxy of ours
	}
	var errs []error
	for _, family := range []string{"ip", "ip6"} {
		output, err := exec.Command(nft, "delete", "table", family, "kube-proxy").CombinedOutput()
		if err != nil && !strings.Contains(string(output), "No such file or directory") {
			errs = append(errs, fmt.Errorf("delete the nft table %s kube-proxy: %w: %s", family, err, strings.TrimSpace(string(output))))
		}
	}
	return errors.Join(errs...)
}

// InUse returns a description of somebody else's route or address within 198.18.0.0/15, or "".
func InUse() (string, error) {
	_, everything, _ := net.ParseCIDR(TestRange)
	ours := -1
	if bridge, err := netlink.LinkByName(Bridge); err == nil {
		ours = bridge.Attrs().Index
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return "", fmt.Errorf("list routes: %w", err)
	}
	for _, route := range routes {
		mine := route.LinkIndex == ours || route.Type == syscall.RTN_BLACKHOLE && route.Dst.String() == everything.String()
		if route.Dst != nil && everything.Contains(route.Dst.IP) && !mine {
			return "route " + route.Dst.String() + on(route.LinkIndex), nil
		}
	}
	addresses, err := netlink.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		return "", fmt.Errorf("list addresses: %w", err)
	}
	for _, address := range addresses {
		if everything.Contains(address.IP) && address.LinkIndex != ours {
			return "address " + address.IPNet.String() + on(address.LinkIndex), nil
		}
	}
	return "", nil
}

// on names a link for a message.
func on(index int) string {
	link, err := netlink.LinkByIndex(index)
	if err != nil {
		return ""
	}
	return " on " + link.Attrs().Name
}
