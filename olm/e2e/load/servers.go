package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/bradfitz/gomemcache/memcache"
)

// Memcached is a memcached server by its address (host:port). A round is a write on a connection that is kept and a
// read on a new one: the first breaks when the server ends, the second fails while none listens.
type Memcached struct {
	name, address string
	kept          *memcache.Client
	rounds        int
}

// loadKey is the item that the rounds write.
const loadKey = "load"

// NewMemcached names a server.
func NewMemcached(name, address string) *Memcached {
	return &Memcached{name: name, address: address, kept: dial(address)}
}

func dial(address string) *memcache.Client {
	client := memcache.New(address)
	client.Timeout, client.MaxIdleConns = patience, 1
	return client
}

// Name implements Server.
func (m *Memcached) Name() string { return m.name }

// Ask implements Server.
func (m *Memcached) Ask(_ context.Context, done func(error)) {
	m.rounds++
	want := strconv.Itoa(m.rounds)
	err := m.kept.Set(&memcache.Item{Key: loadKey, Value: []byte(want)})
	done(err)
	if err != nil {
		return // What is read now says nothing.
	}
	fresh := dial(m.address)
	item, err := fresh.Get(loadKey)
	if err == nil && string(item.Value) != want {
		err = fmt.Errorf("wrote %s, read %s", want, item.Value)
	}
	done(errors.Join(err, fresh.Close()))
}

// Close implements Server.
func (m *Memcached) Close() error { return m.kept.Close() }

// Store writes n items, which Missing looks for.
func (m *Memcached) Store(n int) error {
	client := dial(m.address)
	for i := range n {
		if err := client.Set(&memcache.Item{Key: itemKey(i), Value: []byte(m.name)}); err != nil {
			return errors.Join(fmt.Errorf("store an item in %s: %w", m.name, err), client.Close())
		}
	}
	return client.Close()
}

// Missing is how many of the n items that Store wrote are not there, or not as they were written.
func (m *Memcached) Missing(n int) (int, error) {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = itemKey(i)
	}
	client := dial(m.address)
	items, err := client.GetMulti(keys)
	if err := errors.Join(err, client.Close()); err != nil {
		return n, fmt.Errorf("read the items of %s: %w", m.name, err)
	}
	missing := 0
	for _, key := range keys {
		if item := items[key]; item == nil || string(item.Value) != m.name {
			missing++
		}
	}
	return missing, nil
}

func itemKey(i int) string { return "stored-" + strconv.Itoa(i) }

// Web is a web server by its URL. A round is one request on a connection of its own: a server may end a kept one at any
// time between two requests, and Go's client would then quietly ask again.
type Web struct {
	name, url string
	client    *http.Client
}

// NewWeb names a server.
func NewWeb(name, url string) *Web {
	return &Web{name: name, url: url, client: &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}}
}

// Name implements Server.
func (w *Web) Name() string { return w.name }

// Ask implements Server.
func (w *Web) Ask(ctx context.Context, done func(error)) { done(w.get(ctx)) }

func (w *Web) get(ctx context.Context) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url, nil)
	if err != nil {
		return err
	}
	response, err := w.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", response.Status)
	}
	return nil
}

// Close implements Server. No connection is kept.
func (w *Web) Close() error { return nil }
