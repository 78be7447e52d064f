package metrics

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/example/memcached-operator/operator/agent/memcached"
)

const (
	// keyPrefix keeps our item apart from those of applications.
	keyPrefix = "memcached-operator/canary/"

	// longestName keeps keys below memcached's 250 bytes.
	longestName = 200

	// lifetime is after how many seconds memcached forgets the item of an agent that is gone.
	lifetime = 60

	// timeout is how long each of the two operations may take.
	timeout = time.Second
)

// buckets are in seconds. Memcached beside us answers in tens of microseconds; what is above the last one is an error.
var buckets = []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1}

// Canary stores and reads one item.
type Canary struct {
	client   *memcache.Client
	key      string
	duration *prometheus.HistogramVec
	errors   *prometheus.CounterVec
	hits     atomic.Int64
}

// NewCanary returns a Canary whose key ends in name, which is the pod's: through a proxy, canaries of several pods would
// otherwise read each other's items.
func NewCanary(dialer *memcached.Dialer, name string, registerer prometheus.Registerer) (*Canary, error) {
	if len(name) > longestName {
		name = name[len(name)-longestName:]
	}
	c := &Canary{
		client: memcache.NewFromSelector(one{}),
		key:    keyPrefix + name,
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "memcached_agent_canary_duration_seconds",
			Help:    "How long memcached took to store (operation set) and return (get) one small item. Failures are not in it.",
			Buckets: buckets,
		}, []string{"operation"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "memcached_agent_canary_errors_total",
			Help: "Times that memcached could not be connected to, or had hung up (operation connect), " +
				"or did not store (set) or not return (get) the small item within a second.",
		}, []string{"operation"}),
	}
	c.client.Timeout = timeout
	c.client.MaxIdleConns = 1
	c.client.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		// The client allows no more than its timeout.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dialTimeout)
		defer cancel()
		return dialer.Dial(ctx)
	}
	for _, collector := range []prometheus.Collector{c.duration, c.errors} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register the canary's metrics: %w", err)
		}
	}
	for _, operation := range []string{"connect", "set", "get"} { // So that an alert on them sees the first one, too.
		c.errors.WithLabelValues(operation)
	}
	return c, nil
}

// Sing does one round. Its error is already counted.
func (c *Canary) Sing() error {
	// Connecting, with TLS and a login, takes a hundred times as long as what is measured.
	if err := c.client.Ping(); err != nil {
		return c.count("connect", err)
	}
	value := rand.Text()
	err := c.measure("set", func() error {
		return c.client.Set(&memcache.Item{Key: c.key, Value: []byte(value), Expiration: lifetime})
	})
	if err != nil {
		return err
	}
	return c.measure("get", func() error {
		item, err := c.client.Get(c.key)
		if err == nil {
			c.hits.Add(1)
		}
		if err == nil && string(item.Value) != value {
			err = fmt.Errorf("memcached returned another value than was stored: does something else write %q?", c.key)
		}
		return err
	})
}

// Hits returns how many of the hits that memcached counts are the canary's.
func (c *Canary) Hits() int64 {
	return c.hits.Load()
}

// Close hangs up.
func (c *Canary) Close() error {
	return c.client.Close()
}

func (c *Canary) measure(operation string, do func() error) error {
	start := time.Now()
	if err := do(); err != nil {
		return c.count(operation, err)
	}
	c.duration.WithLabelValues(operation).Observe(time.Since(start).Seconds())
	return nil
}

func (c *Canary) count(operation string, err error) error {
	c.errors.WithLabelValues(operation).Inc()
	return fmt.Errorf("canary %s: %w", operation, err)
}

// one stands for the one memcached that the dialer knows.
type one struct{}

// PickServer implements memcache.ServerSelector.
func (one) PickServer(string) (net.Addr, error) {
	return one{}, nil
}

// Each implements memcache.ServerSelector.
func (one) Each(do func(net.Addr) error) error {
	return do(one{})
}

// Network implements net.Addr.
func (one) Network() string {
	return "memcached"
}

// String implements net.Addr.
func (one) String() string {
	return "memcached"
}
