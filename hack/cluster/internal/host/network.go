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

	"github.com/example/memcached-operator/hack/cluster/internal/process"
)

// AddNetwork makes the bridge, the routes, the firewall rules and the kernel settings, unless they are there. All addresses
// are in TestRange, and no packet of them leaves the machine. The file kernel records the settings that were there before.
func AddNetwork(kernel string) error {
	if err := setKernel(kernel); err != nil {
		return err
	}
	bridge, err := ensureBridge()
	if err != nil {
		return err
	}
	// Without the blackhole, packets to unused addresses would leave by the default route.
	if err := netlink.RouteReplace(blackhole()); err != nil {
		return fmt.Errorf("route %s nowhere: %w", TestRange, err)
	}
	// Without this route, connecting to a ClusterIP from the node fails with EINVAL before kube-proxy's rules apply.
	services := &netlink.Route{Dst: subnet(ServiceCIDR), LinkIndex: bridge.Attrs().Index, Src: net.ParseIP(NodeIP), Scope: netlink.SCOPE_LINK}
	if err := netlink.RouteReplace(services); err != nil {
		return fmt.Errorf("route %s to %s: %w", ServiceCIDR, Bridge, err)
	}
	return openFirewall()
}

// RemoveNetwork removes everything that AddNetwork made, and kube-proxy's tables.
func RemoveNetwork(kernel string) error {
	return errors.Join(removeProxyTables(), closeFirewall(), removeBridge(), removeBlackhole(), restoreKernel(kernel))
}

func subnet(cidr string) *net.IPNet {
	_, network, _ := net.ParseCIDR(cidr) // only constants are given
	return network
}

// blackhole drops what is sent to an address of TestRange that has no other route.
func blackhole() *netlink.Route {
	return &netlink.Route{Dst: subnet(TestRange), Type: syscall.RTN_BLACKHOLE}
}

// ensureBridge returns the bridge, up and with the addresses of the nodes.
func ensureBridge() (netlink.Link, error) {
	err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: Bridge}})
	if err != nil && !errors.Is(err, syscall.EEXIST) {
		return nil, fmt.Errorf("make the bridge %s: %w", Bridge, err)
	}
	bridge, err := netlink.LinkByName(Bridge)
	if err != nil {
		return nil, fmt.Errorf("find the bridge %s: %w", Bridge, err)
	}
	// Without a hardware address of its own, a bridge takes the lowest of the pods' addresses, which changes as pods come
	// and go. What other pods send to the old address is lost: DNS queries, above all.
	if !bytes.Equal(bridge.Attrs().HardwareAddr, BridgeMAC) {
		if err := netlink.LinkSetHardwareAddr(bridge, BridgeMAC); err != nil {
			return nil, fmt.Errorf("give %s the hardware address %s: %w", Bridge, BridgeMAC, err)
		}
	}
	for _, node := range Nodes {
		address := &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(node.IP), Mask: subnet(PodCIDR).Mask}}
		if err := netlink.AddrReplace(bridge, address); err != nil {
			return nil, fmt.Errorf("give %s the address %s: %w", Bridge, node.IP, err)
		}
	}
	if err := netlink.LinkSetUp(bridge); err != nil {
		return nil, fmt.Errorf("bring %s up: %w", Bridge, err)
	}
	return bridge, nil
}

// removeBridge removes the bridge, its routes and the pods' ends of it.
func removeBridge() error {
	bridge, err := netlink.LinkByName(Bridge)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err == nil {
		err = netlink.LinkDel(bridge)
	}
	if err != nil {
		return fmt.Errorf("remove the bridge %s: %w", Bridge, err)
	}
	return nil
}

func removeBlackhole() error {
	if err := netlink.RouteDel(blackhole()); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("remove the route for %s: %w", TestRange, err)
	}
	return nil
}

// removeProxyTables deletes the two nftables tables that kube-proxy leaves behind.
func removeProxyTables() error {
	nft, err := exec.LookPath("nft")
	if err != nil {
		return nil // without nft, kube-proxy cannot have run
	}
	var errs []error
	for _, family := range []string{"ip", "ip6"} {
		_, err := process.Run(exec.Command(nft, "delete", "table", family, "kube-proxy"))
		if err != nil && !strings.Contains(err.Error(), "No such file or directory") {
			errs = append(errs, fmt.Errorf("delete the nft table %s kube-proxy: %w", family, err))
		}
	}
	return errors.Join(errs...)
}

// checkRange reports a route or an address in TestRange that is not the cluster's.
func checkRange() error {
	all := subnet(TestRange)
	ours := -1
	if bridge, err := netlink.LinkByName(Bridge); err == nil {
		ours = bridge.Attrs().Index
	}
	inUse := func(what string, index int) error {
		if link, err := netlink.LinkByIndex(index); err == nil {
			what += " on " + link.Attrs().Name
		}
		return fmt.Errorf("the cluster needs the addresses %s, and this machine uses some of them (%s): remove that", TestRange, what)
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("list routes: %w", err)
	}
	for _, route := range routes {
		mine := route.LinkIndex == ours || route.Type == syscall.RTN_BLACKHOLE && route.Dst.String() == all.String()
		if route.Dst != nil && all.Contains(route.Dst.IP) && !mine {
			return inUse("route "+route.Dst.String(), route.LinkIndex)
		}
	}
	addresses, err := netlink.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("list addresses: %w", err)
	}
	for _, address := range addresses {
		if all.Contains(address.IP) && address.LinkIndex != ours {
			return inUse("address "+address.IPNet.String(), address.LinkIndex)
		}
	}
	return nil
}
