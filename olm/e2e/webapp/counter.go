package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

const (
	// key is the item that holds the number of visits, in decimal.
	key = "visits"
	// patience is how long the lookup of a cache, and its answer, may take. A visitor waits for both.
	patience = time.Second
)

// store is the part of gomemcache's client that counting needs.
type store interface {
	Increment(key string, delta uint64) (uint64, error)
	Add(item *memcache.Item) error
}

// counter counts visits in memcached.
type counter struct {
	// servers are host:port. The host of a whole cache has an address for each of its pods.
	servers []string
	lookup  func(ctx context.Context, host string) ([]string, error)
	nodes   *memcache.ServerList
	store   store
}

func newCounter(servers []string) *counter {
	nodes := &memcache.ServerList{}
	client := memcache.NewFromSelector(nodes)
	client.Timeout = patience
	return &counter{servers: servers, lookup: net.DefaultResolver.LookupHost, nodes: nodes, store: client}
}

// visit counts one visit and returns how many there have been.
func (c *counter) visit(ctx context.Context) (uint64, error) {
	if len(c.servers) == 0 {
		return 0, errors.New("no cache is bound: MEMCACHED_SERVERS is empty")
	}
	if err := c.findNodes(ctx); err != nil {
		return 0, fmt.Errorf("no cache found: %w", err)
	}
	visits, err := c.increment()
	if err != nil {
		return 0, fmt.Errorf("the cache does not answer: %w", err)
	}
	return visits, nil
}

// findNodes looks the addresses up for every visit, because they change. All pods of the application get the same sorted
// list, so all of them keep an item on the same node.
func (c *counter) findNodes(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var found []string
	var problems []error
	for _, server := range c.servers {
		host, port, err := net.SplitHostPort(server)
		if err != nil {
			return fmt.Errorf("MEMCACHED_SERVERS: %w", err)
		}
		addresses, err := c.lookup(ctx, host)
		if err != nil { // There may be other caches.
			problems = append(problems, err)
			continue
		}
		for _, address := range addresses {
			found = append(found, net.JoinHostPort(address, port))
		}
	}
	if len(found) == 0 {
		return errors.Join(problems...)
	}
	slices.Sort(found)
	return c.nodes.SetServers(found...)
}

// increment adds one to the item, or creates it.
func (c *counter) increment() (uint64, error) {
	visits, err := c.store.Increment(key, 1)
	if !errors.Is(err, memcache.ErrCacheMiss) {
		return visits, err
	}
	err = c.store.Add(&memcache.Item{Key: key, Value: []byte("1")})
	if errors.Is(err, memcache.ErrNotStored) { // Another pod was first.
		return c.store.Increment(key, 1)
	}
	return 1, err
}
