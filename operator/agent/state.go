package agent

import (
	"context"
	"slices"
	"strings"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/memory"
)

// state asks memcached, over a new connection as a client's, and adds what the agent knows.
func (a *agent) state(ctx context.Context) (*api.State, error) {
	conn, err := a.dialer.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	failure := a.checkStart(ctx, conn)
	s, err := ask(ctx, conn)
	if err != nil {
		return nil, err
	}
	start, known := a.history.Last()
	if !known {
		return nil, failure
	}
	s.Run = start.Run
	s.Started, s.Warm, s.Before, s.Restored = start.At.UTC(), start.Warm, start.Before, start.Restored
	s.HitRatio = a.ratio.Ratio()
	if served := a.dialer.Served(); served != nil {
		s.Certificate = &api.Certificate{NotAfter: served.NotAfter.UTC(), Fingerprint: api.Fingerprint(served.Raw)}
	}
	s.Problem = a.problem(failure)
	return s, nil
}

// problem joins failure and the problems of the parts of the agent.
func (a *agent) problem(failure error) string {
	all := []string{a.reloads.Problem(), a.memory.Problem()}
	if failure != nil {
		all = append(all, memcached.Brief(failure))
	}
	return strings.Join(slices.DeleteFunc(all, func(problem string) bool { return problem == "" }), "; ")
}

// ask returns the part of the state that memcached tells.
func ask(ctx context.Context, conn *memcached.Conn) (*api.State, error) {
	version, err := conn.Version(ctx)
	if err != nil {
		return nil, err
	}
	general, err := conn.Stats(ctx, "")
	if err != nil {
		return nil, err
	}
	slabs, err := conn.Stats(ctx, "slabs")
	if err != nil {
		return nil, err
	}
	s := &api.State{Version: version}
	if s.CacheMemory, err = memory.Held(general, slabs); err != nil {
		return nil, err
	}
	return s, general.Ints(map[string]*int64{
		"pid": &s.Process, "curr_items": &s.Items, "hash_bytes": &s.HashBytes, "get_hits": &s.Hits, "get_misses": &s.Misses, "evictions": &s.Evictions,
	})
}
