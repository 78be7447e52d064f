package host

import "net/netip"

// Addresses of the cluster. 198.18.0.0/15 is reserved for tests (RFC 2544) and is never routed.
const (
	// Bridge is the network interface that the node and the pods share.
	Bridge = "mc0"
	// NetworkName names the pod network in CNI's files.
	NetworkName = "mc"
	// NodeName is the name of the only node.
	NodeName = "node-0"
	// NodeIP is the node's address, the pods' gateway and the DNS server.
	NodeIP = "198.18.0.1"
	// BridgeMAC is the bridge's hardware address: one that is administered locally, with NodeIP at its end.
	BridgeMAC = "02:00:c6:12:00:01"
	// PodCIDR holds the node and the pods.
	PodCIDR = "198.18.0.0/24"
	// ServiceCIDR holds the ClusterIPs.
	ServiceCIDR = "198.18.128.0/20"
	// APIServiceIP is the ClusterIP of the service "kubernetes": the first of ServiceCIDR.
	APIServiceIP = "198.18.128.1"
	// TestRange holds everything above.
	TestRange = "198.18.0.0/15"
	// APIServer is where clients on this machine reach the API server.
	APIServer = "https://127.0.0.1:6443"
	// EtcdClient and EtcdPeer are etcd's two listeners.
	EtcdClient = "http://127.0.0.1:2379"
	EtcdPeer   = "http://127.0.0.1:2380"
	// Registry is the image registry as image references spell it.
	Registry = "localhost:5000"
)

// Port is a listener of the cluster.
type Port struct {
	// Process is the name of the cluster's process that listens.
	Process string
	// Protocol is "tcp" or "udp".
	Protocol string
	// Address is the address listened on; the unspecified address stands for all of them.
	Address netip.AddrPort
}

// Ports lists every listener of the cluster, for the check that nobody else has them.
func Ports() []Port {
	port := func(process, protocol, address string) Port {
		return Port{Process: process, Protocol: protocol, Address: netip.MustParseAddrPort(address)}
	}
	return []Port{
		port("etcd", "tcp", "127.0.0.1:2379"),
		port("etcd", "tcp", "127.0.0.1:2380"),
		port("kube-apiserver", "tcp", "0.0.0.0:6443"),
		port("kube-controller-manager", "tcp", "127.0.0.1:10257"),
		port("kube-scheduler", "tcp", "127.0.0.1:10259"),
		port("registry", "tcp", "127.0.0.1:5000"),
		port("kubelet", "tcp", NodeIP+":10250"),
		port("kubelet", "tcp", "127.0.0.1:10248"),
		port("kube-proxy", "tcp", "127.0.0.1:10249"),
		port("kube-proxy", "tcp", "127.0.0.1:10256"),
		port("coredns", "tcp", NodeIP+":53"),
		port("coredns", "udp", NodeIP+":53"),
		port("coredns", "tcp", "127.0.0.1:8191"),
	}
}
