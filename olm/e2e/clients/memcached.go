package clients

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"slices"
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

func (host) Network() string { return "tcp" }
func (h host) String() string {
	if _, _, err := net.SplitHostPort(string(h)); err == nil {
		return string(h)
	}
	return net.JoinHostPort(string(h), Port)
}

// Memcached is one memcached server. As a Server, a round is a write on a connection that is kept and a read on a new
// one: the first breaks when memcached ends, the second fails while none listens.
type Memcached struct {
	name, host string
	access     Access
	kept       *memcache.Client
	rounds     int

	mutex   sync.Mutex
	outcome Outcome
}

// Outcome is what came of the requests to one server.
type Outcome struct {
	Requests int
	// Failed are the times at which failures were noticed, in order.
	Failed []time.Time
	// Failure is the first failure.
	Failure error
}

// Missed is how long the server did not answer, as its clients saw it: from the first failure to the last.
func (o Outcome) Missed() time.Duration {
	if len(o.Failed) == 0 {
		return 0
	}
	return o.Failed[len(o.Failed)-1].Sub(o.Failed[0])
}

// Overlaps reports whether two servers did not answer at the same time.
func (o Outcome) Overlaps(other Outcome) bool {
	if len(o.Failed) == 0 || len(other.Failed) == 0 {
		return false
	}
	return !o.Failed[len(o.Failed)-1].Before(other.Failed[0]) && !other.Failed[len(other.Failed)-1].Before(o.Failed[0])
}

// NewMemcached names a server. The host is a DNS name or an address, with a port if that is not Port.
func NewMemcached(name, host string, access Access) *Memcached {
	return &Memcached{name: name, host: host, access: access, kept: access.Spread(host)}
}

// Name implements Server.
func (m *Memcached) Name() string { return m.name }

// Close implements Server.
func (m *Memcached) Close() error { return m.kept.Close() }

// Ask implements Server.
func (m *Memcached) Ask(_ context.Context, done func(error)) {
	m.rounds++
	want := strconv.Itoa(m.rounds)
	err := m.kept.Set(&memcache.Item{Key: "load", Value: []byte(want)})
	done(m.count(err))
	if err != nil {
		return // What is read now says nothing.
	}
	fresh := m.access.Spread(m.host)
	item, err := fresh.Get("load")
	if err == nil && string(item.Value) != want {
		err = fmt.Errorf("wrote %s, read %s", want, item.Value)
	}
	done(m.count(errors.Join(err, fresh.Close())))
}

func (m *Memcached) count(err error) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.outcome.Requests++
	if err != nil {
		if len(m.outcome.Failed) == 0 {
			m.outcome.Failure = err
		}
		m.outcome.Failed = append(m.outcome.Failed, time.Now())
	}
	return err
}

// Outcome returns what has come of the requests of Ask so far.
func (m *Memcached) Outcome() Outcome {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	outcome := m.outcome
	outcome.Failed = slices.Clone(outcome.Failed)
	return outcome
}

// Store writes n items of this many bytes, which Missing looks for.
func (m *Memcached) Store(n, size int) error {
	client := m.access.Spread(m.host)
	for i := range n {
		if err := client.Set(&memcache.Item{Key: itemKey(i), Value: m.value(i, size)}); err != nil {
			return errors.Join(fmt.Errorf("store an item in %s: %w", m.name, err), client.Close())
		}
	}
	return client.Close()
}

// Missing is how many of the n items of this many bytes that Store wrote are not there, or not as they were written.
func (m *Memcached) Missing(n, size int) (int, error) {
	const atOnce = 500
	client := m.access.Spread(m.host)
	missing := 0
	for begin := 0; begin < n; begin += atOnce {
		end := min(begin+atOnce, n)
		var keys []string
		for i := begin; i < end; i++ {
			keys = append(keys, itemKey(i))
		}
		items, err := client.GetMulti(keys)
		if err != nil {
			return n, errors.Join(fmt.Errorf("read the items of %s: %w", m.name, err), client.Close())
		}
		for i := begin; i < end; i++ {
			if item := items[itemKey(i)]; item == nil || string(item.Value) != string(m.value(i, size)) {
				missing++
			}
		}
	}
	return missing, client.Close()
}

func itemKey(i int) string { return "stored-" + strconv.Itoa(i) }

// value is another one for each item and each server, so that one in another's place is missed.
func (m *Memcached) value(i, size int) []byte {
	text := m.name + " " + strconv.Itoa(i) + " "
	return []byte(text + strings.Repeat("x", max(0, size-len(text))))
}
