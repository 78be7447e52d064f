package clients

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

// cache is a memcached that implements set, get and, if it has a secret, the login.
type cache struct {
	secret string

	listener net.Listener
	mutex    sync.Mutex
	items    map[string]string
	open     []net.Conn
}

// serve answers connections on a loopback address until the test ends. With a configuration, it speaks TLS.
func (c *cache) serve(t *testing.T, config *tls.Config) (host, port string) {
	t.Helper()
	c.items = map[string]string{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host, port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	c.listener = listener
	t.Cleanup(c.end)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			c.mutex.Lock()
			c.open = append(c.open, conn)
			c.mutex.Unlock()
			go c.answer(conn)
		}
	}()
	return host, port
}

func (c *cache) answer(conn net.Conn) {
	defer conn.Close()
	lines, known := bufio.NewReader(conn), c.secret == ""
	for {
		line, err := lines.ReadString('\n')
		words := strings.Fields(line)
		if err != nil || len(words) < 2 {
			return
		}
		if words[0] == "set" {
			value, _ := lines.ReadString('\n')
			value = strings.TrimSpace(value)
			switch {
			case !known && value != c.secret:
				_, _ = io.WriteString(conn, "CLIENT_ERROR authentication failure\r\n")
				continue
			case known:
				c.set(words[1], value)
			}
			known = true
			_, _ = io.WriteString(conn, "STORED\r\n")
			continue
		}
		for _, key := range words[1:] {
			if value, found := c.get(key); found {
				_, _ = fmt.Fprintf(conn, "VALUE %s 0 %d\r\n%s\r\n", key, len(value), value)
			}
		}
		_, _ = io.WriteString(conn, "END\r\n")
	}
}

func (c *cache) set(key, value string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.items[key] = value
}

func (c *cache) get(key string) (string, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	value, found := c.items[key]
	return value, found
}

func (c *cache) lose(keys ...string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, key := range keys {
		delete(c.items, key)
	}
}

// disconnect ends the open connections. The cache still listens.
func (c *cache) disconnect() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, conn := range c.open {
		_ = conn.Close()
	}
	c.open = nil
}

// end ends the listener and its connections, as the end of a container does.
func (c *cache) end() {
	_ = c.listener.Close()
	c.disconnect()
}

// server starts a cache, and returns it with a client of it.
func server(t *testing.T, name string) (*cache, *Memcached) {
	t.Helper()
	c := &cache{}
	host, port := c.serve(t, nil)
	return c, NewMemcached(name, net.JoinHostPort(host, port), Access{})
}

func network(t *testing.T) *Network {
	t.Helper()
	n, err := NewNetwork("search default.svc.cluster.local svc.cluster.local cluster.local\nnameserver 127.0.0.1\noptions ndots:5\n")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestANetworkNeedsAServerAndSomethingToSearch(t *testing.T) {
	for _, config := range []string{"", "nameserver 10.0.0.1\n", "search cluster.local\n", "# nameserver 10.0.0.1\nsearch\n"} {
		if _, err := NewNetwork(config); err == nil {
			t.Errorf("%q was taken", config)
		}
	}
	if ip, err := network(t).Lookup(t.Context(), "10.1.2.3"); err != nil || ip != "10.1.2.3" {
		t.Errorf("an address became %s: %v", ip, err)
	}
}

func TestLogin(t *testing.T) {
	c := &cache{secret: "app right"}
	host, port := c.serve(t, nil)
	access := Access{Network: network(t), User: "app", Password: "wrong"}
	if _, err := access.Dial(t.Context(), "tcp", net.JoinHostPort(host, port)); err == nil || !strings.Contains(err.Error(), "authentication failure") {
		t.Errorf("a wrong password: %v", err)
	}
	access.Password = "right"
	conn, err := access.Dial(t.Context(), "tcp", net.JoinHostPort(host, port))
	if err != nil {
		t.Fatal(err)
	}
	open := newConn(conn)
	open.Ask(t.Context(), func(err error) {
		if err != nil {
			t.Error(err)
		}
	})
	if err := open.Close(); err != nil {
		t.Error(err)
	}
	open.Ask(t.Context(), func(err error) {
		if err == nil {
			t.Error("a connection that is closed can be used")
		}
	})
}

// Access connects with TLS if the certificate is of the CA, for the host and not expired.
func TestCertificates(t *testing.T) {
	authority, other := agenttesting.NewAuthority(t), agenttesting.NewAuthority(t)
	config := tlsConfig(t, authority.Issue(t, time.Now().Add(time.Hour), "localhost"))
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, config.RootCAs
	_, port := (&cache{}).serve(t, config)
	soon, past := time.Now().Add(time.Hour), time.Now().Add(-time.Minute)
	for name, test := range map[string]struct {
		files map[string]string
		host  string
		good  bool
	}{
		"the CA's":            {authority.Issue(t, soon, "client"), "localhost", true},
		"another host":        {authority.Issue(t, soon, "client"), "127.0.0.1", false},
		"another CA's":        {other.Issue(t, soon, "client"), "localhost", false},
		"one that is expired": {authority.Issue(t, past, "client"), "localhost", false},
	} {
		config := tlsConfig(t, test.files)
		config.ServerName = test.host
		conn, err := tls.Dial("tcp", net.JoinHostPort("127.0.0.1", port), config)
		if err == nil {
			open := newConn(conn)
			open.Ask(t.Context(), func(failed error) { err = failed })
			_ = conn.Close()
		}
		if (err == nil) != test.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func tlsConfig(t *testing.T, files map[string]string) *tls.Config {
	t.Helper()
	certificates, err := agenttesting.NewVolume(t, files).Files().Read()
	if err != nil {
		t.Fatal(err)
	}
	return certificates.TLS()
}

// Keys are spread over all hosts, and each is always on the same host.
func TestKeysAreSpread(t *testing.T) {
	hosts, places := hostList{"a", "b", "c"}, map[string]int{}
	for i := range 300 {
		key := fmt.Sprint("key-", i)
		address, err := hosts.PickServer(key)
		if err != nil {
			t.Fatal(err)
		}
		again, err := hosts.PickServer(key)
		if err != nil || again != address {
			t.Errorf("%s is at %s and at %s: %v", key, address, again, err)
		}
		places[address.String()]++
	}
	for _, name := range hosts {
		if n := places[host(name).String()]; n < 50 {
			t.Errorf("%d of 300 keys are at %s", n, name)
		}
	}
	if _, err := (hostList{}).PickServer("a"); err == nil {
		t.Error("a key is at no host")
	}
}

// The values of items differ, in one server and between servers.
func TestItemsDiffer(t *testing.T) {
	one := NewMemcached("a", "a", Access{})
	other := NewMemcached("b", "b", Access{})
	if string(one.value(nil, 1, 20)) == string(one.value(nil, 2, 20)) || string(one.value(nil, 1, 20)) == string(other.value(nil, 1, 20)) {
		t.Error("items are alike")
	}
	if n := len(one.value(nil, 1, 20)); n != 20 {
		t.Errorf("an item has %d bytes, want 20", n)
	}
}
