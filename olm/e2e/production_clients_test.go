//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/example/memcached-operator/olm/e2e/clients"
)

// itemsPerClient is how many items each client library stores, spread over the pods, and reads.
const itemsPerClient = 200

// usable lets gomemcache and pymemcache use the cache as applications do: by the DNS names of its pods, each key on the pod
// that the library chooses, with TLS and a password.
func (p *production) usable(access clients.Access, certificate map[string]string) {
	t := p.t
	hosts := p.hosts()
	const timeout = 10 * time.Second // Whether it is fast is not asked here.
	inGo := access.Spread(hosts...)
	inGo.Timeout = timeout
	nodes := map[string]*memcache.Client{}
	for _, host := range hosts {
		nodes[host] = access.Spread(host)
		nodes[host].Timeout = timeout
	}
	for i := range itemsPerClient {
		must(t, inGo.Set(&memcache.Item{Key: fmt.Sprintf("go-%d", i), Value: fmt.Appendf(nil, "value %d", i)}))
	}
	places := map[string]int{}
	for i := range itemsPerClient {
		key := fmt.Sprintf("go-%d", i)
		item, err := inGo.Get(key)
		must(t, err)
		if string(item.Value) != fmt.Sprintf("value %d", i) {
			t.Errorf("gomemcache: %s is %q", key, item.Value)
		}
		for host, node := range nodes {
			if _, err := node.Get(key); err == nil {
				places[host]++
			}
		}
	}
	must(t, inGo.Close())
	for _, node := range nodes {
		must(t, node.Close())
	}
	spread(t, "gomemcache", places, hosts)

	inPython := clients.Pymemcache{
		Module: os.Getenv("PYMEMCACHE"), Network: p.network, Certificate: certificate, User: access.User, Password: access.Password,
	}
	used, err := inPython.Use(t.Context(), t.TempDir(), itemsPerClient, hosts...)
	must(t, err)
	if used.Error != "" || used.Read != itemsPerClient {
		t.Errorf("pymemcache read %d of %d items: %s", used.Read, itemsPerClient, used.Error)
	}
	spread(t, "pymemcache", used.Places, hosts)

	inPython.Password = "wrong"
	if used, err = inPython.Use(t.Context(), t.TempDir(), 1, hosts...); err != nil || !strings.Contains(used.Error, "authentication failure") {
		t.Errorf("pymemcache with a wrong password: %+v, %v", used, err)
	}
}

// spread fails the test unless every host has some of the items, and together they have each once.
func spread(t *testing.T, library string, places map[string]int, hosts []string) {
	t.Helper()
	sum := 0
	for _, host := range hosts {
		if places[host] == 0 {
			t.Errorf("%s uses only %v of %v", library, places, hosts)
		}
		sum += places[host]
	}
	if sum != itemsPerClient {
		t.Errorf("%s: %d items are at %v", library, itemsPerClient, places)
	}
	t.Logf("%s stored and read %d items: %v", library, itemsPerClient, places)
}
