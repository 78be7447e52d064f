package clients

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

// Spread is gomemcache's client for several hosts: a key is always on the same of them.
func (a Access) Spread(hosts ...string) *memcache.Client {
	client := memcache.NewFromSelector(hostList(hosts))
	client.DialContext, client.Timeout = a.Dial, patience
	return client
}

// hostList chooses one of the hosts for a key. Their order is what a key's place depends on.
type hostList []string

func (l hostList) PickServer(key string) (net.Addr, error) {
	if len(l) == 0 {
		return nil, memcache.ErrNoServers
	}
	return host(l[crc32.ChecksumIEEE([]byte(key))%uint32(len(l))]), nil
}

func (l hostList) Each(do func(net.Addr) error) error {
	var failed error
	for _, name := range l {
		failed = errors.Join(failed, do(host(name)))
	}
	return failed
}

// host is the address of memcached on a host, by name.
type host string

func (host) Network() string  { return "tcp" }
func (h host) String() string { return net.JoinHostPort(string(h), Port) }

// Slot is one slot of a cache, by its name. As a load.Server, a round is a write on a connection that is kept and a read on
// a new one: the first breaks when memcached ends, the second fails while none listens.
type Slot struct {
	host   string
	access Access
	kept   *memcache.Client
	rounds int

	mutex  sync.Mutex
	failed []time.Time
}

// NewSlot names a slot by its host, or a node by its address.
func NewSlot(host string, access Access) *Slot {
	return &Slot{host: host, access: access, kept: access.Spread(host)}
}

// Name implements load.Server.
func (s *Slot) Name() string { return s.host }

// Close implements load.Server.
func (s *Slot) Close() error { return s.kept.Close() }

// Ask implements load.Server.
func (s *Slot) Ask(_ context.Context, done func(error)) {
	s.rounds++
	want := strconv.Itoa(s.rounds)
	err := s.kept.Set(&memcache.Item{Key: "load", Value: []byte(want)})
	done(s.note(err))
	if err != nil {
		return // What is read now says nothing.
	}
	fresh := s.access.Spread(s.host)
	item, err := fresh.Get("load")
	if err == nil && string(item.Value) != want {
		err = fmt.Errorf("wrote %s, read %s", want, item.Value)
	}
	done(s.note(errors.Join(err, fresh.Close())))
}

func (s *Slot) note(err error) error {
	if err != nil {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.failed = append(s.failed, time.Now())
	}
	return err
}

// Failed are the times at which requests of Ask have failed, in order.
func (s *Slot) Failed() []time.Time {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]time.Time(nil), s.failed...)
}

// Store writes n items of this many bytes, which Missing looks for.
func (s *Slot) Store(n, size int) error {
	client := s.access.Spread(s.host)
	for i := range n {
		if err := client.Set(&memcache.Item{Key: itemKey(i), Value: s.value(i, size)}); err != nil {
			return errors.Join(fmt.Errorf("store an item in %s: %w", s.host, err), client.Close())
		}
	}
	return client.Close()
}

// Missing is how many of the n items of this many bytes that Store wrote are not there, or not as they were written.
func (s *Slot) Missing(n, size int) (int, error) {
	const atOnce = 500
	client := s.access.Spread(s.host)
	missing := 0
	for begin := 0; begin < n; begin += atOnce {
		end := min(begin+atOnce, n)
		var keys []string
		for i := begin; i < end; i++ {
			keys = append(keys, itemKey(i))
		}
		items, err := client.GetMulti(keys)
		if err != nil {
			return n, errors.Join(fmt.Errorf("read the items of %s: %w", s.host, err), client.Close())
		}
		for i := begin; i < end; i++ {
			if item := items[itemKey(i)]; item == nil || string(item.Value) != string(s.value(i, size)) {
				missing++
			}
		}
	}
	return missing, client.Close()
}

func itemKey(i int) string { return "stored-" + strconv.Itoa(i) }

// value is another one for each item and each host, so that one in another's place is missed.
func (s *Slot) value(i, size int) []byte {
	text := s.host + " " + strconv.Itoa(i) + " "
	return []byte(text + strings.Repeat("x", max(0, size-len(text))))
}
