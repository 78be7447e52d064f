package host

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// socket is a listening socket of this machine.
type socket struct {
	address netip.AddrPort
	inode   string
}

// checkPorts reports every port of the cluster that another process listens on.
func checkPorts(ports []Port, alive func(process string) bool) error {
	listeners := map[string][]socket{}
	for _, protocol := range []string{"tcp", "udp"} {
		for _, version := range []string{"", "6"} {
			data, err := os.ReadFile("/proc/net/" + protocol + version)
			if err != nil {
				continue // a kernel without IPv6
			}
			listeners[protocol] = append(listeners[protocol], parseSockets(string(data), protocol)...)
		}
	}
	var errs []error
	for _, port := range ports {
		if alive(port.Process) {
			continue
		}
		for _, listener := range listeners[port.Protocol] {
			if conflict(port.Address, listener.address) {
				errs = append(errs, fmt.Errorf("port %d (%s, on %s), which the cluster's %s needs, is in use by %s: stop that first", port.Address.Port(), port.Protocol, listener.address.Addr(), port.Process, holder(listener.inode)))
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

// parseSockets reads the listening sockets from the text of /proc/net/tcp, tcp6, udp or udp6.
func parseSockets(table, protocol string) []socket {
	const (
		localField, stateField, inodeField = 1, 3, 9
		tcpListen                          = "0A"
		udpUnconnected                     = "07"
	)
	want := map[string]string{"tcp": tcpListen, "udp": udpUnconnected}[protocol]
	var sockets []socket
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) <= inodeField || fields[stateField] != want {
			continue
		}
		if address, err := parseAddress(fields[localField]); err == nil {
			sockets = append(sockets, socket{address: address, inode: fields[inodeField]})
		}
	}
	return sockets
}

// parseAddress reads an address such as "0100007F:1388": hexadecimal 32-bit words in the machine's byte order, and the port.
func parseAddress(text string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(text, ":")
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("read the port of %q: %w", text, err)
	}
	raw, err := hex.DecodeString(host)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("read the address of %q: %w", text, err)
	}
	const word = 4
	for i := 0; i+word <= len(raw); i += word {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	address, ok := netip.AddrFromSlice(raw)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("%q is no address", text)
	}
	return netip.AddrPortFrom(address.Unmap(), uint16(number)), nil
}

// holder describes the process that has the socket open.
func holder(inode string) string {
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return "another process"
	}
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || target != "socket:["+inode+"]" {
			continue
		}
		folder := filepath.Dir(filepath.Dir(link))
		name, err := os.ReadFile(filepath.Join(folder, "comm"))
		if err != nil {
			break
		}
		return strings.TrimSpace(string(name)) + " (process " + filepath.Base(folder) + ")"
	}
	return "another process"
}
