package clients

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

// Spread returns gomemcache's client for several hosts. It stores each key on one of them.
func (a Access) Spread(hosts ...string) *memcache.Client {
	client := memcache.NewFromSelector(hostList(hosts))
	client.DialContext, client.Timeout = a.Dial, patience
	return client
}

// hostList chooses one of the hosts for a key. The choice depends on the order of the hosts.
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

// host is the address of memcached on a host. It keeps the name, which Access.Dial looks up.
type host string

func (host) Network() string { return "tcp" }
func (h host) String() string {
	if _, _, err := net.SplitHostPort(string(h)); err == nil {
		return string(h)
	}
	return net.JoinHostPort(string(h), Port)
}

// Memcached is one memcached server. As a Server, a round is a write on a connection that stays open, which breaks when
// memcached ends, and a read on a new connection, which fails while memcached does not listen.
type Memcached struct {
	name, host string
	access     Access
	kept       *memcache.Client
	rounds     int
	many       bool

	mutex   sync.Mutex
	outcome Outcome
}

// Outcome counts the requests to one server.
type Outcome struct {
	Requests int
	// Failed are the times of the failures, in order.
	Failed []time.Time
	// Failure is the first failure.
	Failure error
}

// Missed returns the time from the first failure to the last: how long the server did not answer, as its clients saw it.
func (o Outcome) Missed() time.Duration {
	if len(o.Failed) == 0 {
		return 0
	}
	return o.Failed[len(o.Failed)-1].Sub(o.Failed[0])
}

// Overlaps tells whether there was a time at which neither of two servers answered.
func (o Outcome) Overlaps(other Outcome) bool {
	if len(o.Failed) == 0 || len(other.Failed) == 0 {
		return false
	}
	return !o.Failed[len(o.Failed)-1].Before(other.Failed[0]) && !other.Failed[len(other.Failed)-1].Before(o.Failed[0])
}

// Outage is a time in which a server did not answer, from the first failure to the last.
type Outage struct{ From, To time.Time }

// Overlaps tells whether there was a time at which neither of two servers answered.
func (o Outage) Overlaps(other Outage) bool {
	return !o.To.Before(other.From) && !other.To.Before(o.From)
}

// Outages returns the outages of the server, in order. Between two of them it answered for some seconds: a request that is not answered
// takes a while until it fails.
func (o Outcome) Outages() (outages []Outage) {
	const answered = 2*patience + time.Second
	for _, at := range o.Failed {
		if last := len(outages) - 1; last >= 0 && at.Sub(outages[last].To) < answered {
			outages[last].To = at
		} else {
			outages = append(outages, Outage{From: at, To: at})
		}
	}
	return outages
}

// NewMemcached returns a server with this name. The host is a DNS name or an address, with a port if that is not Port.
func NewMemcached(name, host string, access Access) *Memcached {
	return &Memcached{name: name, host: host, access: access, kept: access.Spread(host)}
}

// NewService returns a server for an address behind which there are several memcacheds. Any of them may answer, so a round is one
// request for the version, on a new connection.
func NewService(name, host string, access Access) *Memcached {
	service := NewMemcached(name, host, access)
	service.many = true
	return service
}

// Name implements Server.
func (m *Memcached) Name() string { return m.name }

// Close implements Server.
func (m *Memcached) Close() error { return m.kept.Close() }

// Ask implements Server.
func (m *Memcached) Ask(_ context.Context, done func(error)) {
	if m.many {
		fresh := m.access.Spread(m.host)
		err := fresh.Ping()
		done(m.count(errors.Join(err, fresh.Close())))
		return
	}
	m.rounds++
	want := strconv.Itoa(m.rounds)
	err := m.kept.Set(&memcache.Item{Key: "load", Value: []byte(want)})
	done(m.count(err))
	if err != nil {
		return // There is nothing to read.
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

// Outcome returns the counts of Ask so far.
func (m *Memcached) Outcome() Outcome {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	outcome := m.outcome
	outcome.Failed = slices.Clone(outcome.Failed)
	return outcome
}
