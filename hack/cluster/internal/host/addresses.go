package host

import (
	"net"
	"net/netip"
)

// Names and addresses of the cluster. 198.18.0.0/15 is reserved for tests (RFC 2544) and is never routed.
const (
	// Bridge is the network interface that the nodes and the pods share.
	Bridge = "mc0"
	// NetworkName names the pod network in CNI's files.
	NetworkName = "mc"
	// NodeIP is the address of the first node, the API server, the pods' gateway and the DNS server.
	NodeIP = "198.18.0.1"
	// PodCIDR holds the nodes and the pods.
	PodCIDR = "198.18.0.0/24"
	// ServiceCIDR holds the ClusterIPs.
	ServiceCIDR = "198.18.128.0/20"
	// APIServiceIP is the ClusterIP of the service "kubernetes": the first of ServiceCIDR.
	APIServiceIP = "198.18.128.1"
	// TestRange holds all of these addresses.
	TestRange = "198.18.0.0/15"
	// APIServer is where clients on this machine reach the API server.
	APIServer = "https://127.0.0.1:6443"
	// EtcdClient and EtcdPeer are etcd's two listeners.
	EtcdClient = "http://127.0.0.1:2379"
	EtcdPeer   = "http://127.0.0.1:2380"
	// Registry is the image registry, as in image references.
	Registry = "localhost:5000"
	// The servers of OLM v1: the contents of catalogs (with the name that clients use), metrics, health, and the webhook, which listens on
	// every address.
	CatalogdContent           = "127.0.0.1:18443"
	CatalogdURL               = "localhost:18443"
	CatalogdMetrics           = "127.0.0.1:18444"
	CatalogdHealth            = "127.0.0.1:18445"
	CatalogdWebhookPort       = "18446"
	OperatorControllerMetrics = "127.0.0.1:18447"
	OperatorControllerHealth  = "127.0.0.1:18448"
)

// Node is one of the nodes. They share the machine and its bridge.
type Node struct {
	Name string
	// IP is its address on the bridge, where its kubelet listens.
	IP string
	// Health is the loopback address where its kubelet answers whether it works.
	Health string
}

// Nodes lists the nodes that the cluster can have. A cluster has the first of them.
var Nodes = []Node{
	{Name: "node-0", IP: NodeIP, Health: "127.0.0.1:10248"},
	{Name: "node-1", IP: "198.18.0.2", Health: "127.0.0.1:10247"},
}

// Kubelet is the name of the node's kubelet process.
func (n Node) Kubelet() string { return "kubelet-" + n.Name }

// Containerd is the name of the node's containerd process.
func (n Node) Containerd() string { return "containerd-" + n.Name }

// BridgeMAC is the bridge's hardware address: a locally administered one that ends with NodeIP.
var BridgeMAC = net.HardwareAddr{2, 0, 198, 18, 0, 1}

// Port is a port that a process of the cluster listens on.
type Port struct {
	// Process is the name of the process.
	Process string
	// Protocol is "tcp" or "udp".
	Protocol string
	// Address may be the unspecified address, which stands for all addresses.
	Address netip.AddrPort
}

// Ports lists every port that the cluster listens on, for the check that they are free.
func Ports() []Port {
	port := func(process, protocol, address string) Port {
		return Port{Process: process, Protocol: protocol, Address: netip.MustParseAddrPort(address)}
	}
	ports := []Port{
		port("etcd", "tcp", "127.0.0.1:2379"),
		port("etcd", "tcp", "127.0.0.1:2380"),
		port("kube-apiserver", "tcp", "0.0.0.0:6443"),
		port("kube-controller-manager", "tcp", "127.0.0.1:10257"),
		port("kube-scheduler", "tcp", "127.0.0.1:10259"),
		port("registry", "tcp", "127.0.0.1:5000"),
		port("kube-proxy", "tcp", "127.0.0.1:10249"),
		port("kube-proxy", "tcp", "127.0.0.1:10256"),
		port("coredns", "tcp", NodeIP+":53"),
		port("coredns", "udp", NodeIP+":53"),
		port("coredns", "tcp", "127.0.0.1:8191"),
		port("catalogd", "tcp", CatalogdContent),
		port("catalogd", "tcp", CatalogdMetrics),
		port("catalogd", "tcp", CatalogdHealth),
		port("catalogd", "tcp", "0.0.0.0:"+CatalogdWebhookPort),
		port("operator-controller", "tcp", OperatorControllerMetrics),
		port("operator-controller", "tcp", OperatorControllerHealth),
	}
	for _, node := range Nodes {
		ports = append(ports, port(node.Kubelet(), "tcp", node.IP+":10250"), port(node.Kubelet(), "tcp", node.Health))
	}
	return ports
}
