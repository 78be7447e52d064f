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
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/example/memcached-operator/operator/agent/memcached"
)

const (
	// canaryPrefix keeps the canary's item apart from those of applications.
	canaryPrefix = "memcached-operator/canary/"

	// maxCanaryName keeps keys below memcached's 250 bytes.
	maxCanaryName = 200

	// canaryLifetime is after how many seconds memcached forgets the item of an agent that is gone.
	canaryLifetime = 60

	// canaryTimeout is how long each of the two operations may take.
	canaryTimeout = time.Second
)

// Canary measures what a client of memcached experiences: it stores one small item and reads it back, over a connection that
// stays open as a client's does.
type Canary struct {
	client   *memcache.Client
	key      string
	duration *prometheus.HistogramVec
	errors   *prometheus.CounterVec
	hits     atomic.Int64
}

// NewCanary returns a Canary whose key ends in name, which is the pod's: through a proxy, canaries of several pods would
// otherwise read each other's items.
func NewCanary(dialer *memcached.Dialer, name string, registerer prometheus.Registerer) *Canary {
	metrics := promauto.With(registerer)
	c := &Canary{
		client: memcache.New("/"), // DialContext ignores the address.
		key:    canaryPrefix + name[max(0, len(name)-maxCanaryName):],
		duration: metrics.NewHistogramVec(prometheus.HistogramOpts{
			Name: "memcached_agent_canary_duration_seconds",
			Help: "How long memcached took to store (operation set) and return (get) one small item. Failures are not in it.",
			// A memcached in the same pod answers in tens of microseconds; what takes longer than the last bucket is an error.
			Buckets: []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1},
		}, []string{"operation"}),
		errors: metrics.NewCounterVec(prometheus.CounterOpts{
			Name: "memcached_agent_canary_errors_total",
			Help: "Times that memcached could not be connected to, or had hung up (operation connect), " +
				"or did not store (set) or not return (get) the small item within a second.",
		}, []string{"operation"}),
	}
	c.client.Timeout = canaryTimeout
	c.client.MaxIdleConns = 1
	c.client.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		// The client allows no more than its timeout.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dialTimeout)
		defer cancel()
		return dialer.Dial(ctx)
	}
	for _, operation := range []string{"connect", "set", "get"} { // So that an alert sees the first error as an increase.
		c.errors.WithLabelValues(operation)
	}
	return c
}

// Measure stores and reads the item once. Its error has been counted.
func (c *Canary) Measure() error {
	// Connecting, with TLS and a login, takes a hundred times as long as the operations that are measured.
	if err := c.client.Ping(); err != nil {
		return c.count("connect", err)
	}
	value := rand.Text()
	err := c.measure("set", func() error {
		return c.client.Set(&memcache.Item{Key: c.key, Value: []byte(value), Expiration: canaryLifetime})
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

// Close closes the connection.
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
