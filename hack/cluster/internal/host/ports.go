package host

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/prometheus/procfs"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// checkPorts reports every port of the cluster that another process listens on.
func checkPorts(ports []Port, alive func(process string) bool) error {
	listeners := listening()
	var errs []error
	for _, port := range ports {
		if alive(port.Process) {
			continue
		}
		for _, listener := range listeners[port.Protocol] {
			if address := addressOf(listener); conflict(port.Address, address) {
				errs = append(errs, fmt.Errorf("port %d (%s, on %s), which the cluster's %s needs, is in use by %s: stop that first", port.Address.Port(), port.Protocol, address.Addr(), port.Process, holder(listener.INode)))
				break
			}
		}
	}
	return errors.Join(errs...)
}

// conflict reports whether two processes cannot listen on both addresses.
func conflict(a, b netip.AddrPort) bool {
	return a.Port() == b.Port() && (a.Addr() == b.Addr() || a.Addr().IsUnspecified() || b.Addr().IsUnspecified())
}

// listening lists the listening sockets by protocol.
func listening() map[string][]*netlink.Socket {
	found := map[string][]*netlink.Socket{}
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		tcp, _ := netlink.SocketDiagTCP(family) // fails on a kernel without IPv6
		udp, _ := netlink.SocketDiagUDP(family)
		found["tcp"] = append(found["tcp"], inState(netlink.TCP_LISTEN, tcp)...)
		found["udp"] = append(found["udp"], inState(netlink.TCP_CLOSE, udp)...) // not connected
	}
	return found
}

func inState(state uint8, sockets []*netlink.Socket) []*netlink.Socket {
	return slices.DeleteFunc(sockets, func(s *netlink.Socket) bool { return s.State != state })
}

// addressOf returns the address that a socket listens on.
func addressOf(s *netlink.Socket) netip.AddrPort {
	address, _ := netip.AddrFromSlice(s.ID.Source)
	return netip.AddrPortFrom(address.Unmap(), s.ID.SourcePort)
}

// holder describes the process that has the socket open.
func holder(inode uint32) string {
	processes, _ := procfs.AllProcs()
	for _, p := range processes {
		files, _ := p.FileDescriptorTargets() // fails for a process that has gone
		if name, err := p.Comm(); err == nil && slices.Contains(files, fmt.Sprintf("socket:[%d]", inode)) {
			return fmt.Sprintf("%s (process %d)", name, p.PID)
		}
	}
	return "another process"
}
