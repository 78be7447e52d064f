package agent

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	"github.com/example/memcached-operator/operator/agent/memory"
)

// serveState answers with the state of now, or 503 and why memcached does not tell it.
func (a *agent) serveState(w http.ResponseWriter, r *http.Request) {
	s, err := a.together(r, func(ctx context.Context) (any, error) { return a.state(ctx) })
	if err != nil {
		http.Error(w, memcached.Brief(err), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s) // Who hung up needs no answer.
}

// state asks memcached, over a new connection as a client's, and adds what the agent knows.
func (a *agent) state(ctx context.Context) (*api.State, error) {
	conn, err := a.dialer.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	failure := a.noteStart(ctx, conn)
	s, err := ask(ctx, conn)
	if err != nil {
		return nil, err
	}
	start, known := a.history.Last()
	if !known {
		return nil, failure
	}
	s.Started, s.Warm, s.Before, s.Restored = start.At.UTC(), start.Warm, start.Before, start.Restored
	s.HitRatio = a.ratio.Ratio()
	if served := a.dialer.Served(); served != nil {
		s.Certificate = &api.Certificate{NotAfter: served.NotAfter.UTC(), Fingerprint: api.Fingerprint(served.Raw)}
	}
	s.Problem = a.problem(failure)
	return s, nil
}

// problem joins what the parts of the agent could not do, and failure.
func (a *agent) problem(failure error) string {
	problems := []string{a.reloads.Problem(), a.memory.Problem()}
	if failure != nil {
		problems = append(problems, memcached.Brief(failure))
	}
	var all []string
	for _, problem := range problems {
		if problem != "" {
			all = append(all, problem)
		}
	}
	return strings.Join(all, "; ")
}

// ask returns what memcached says of itself.
func ask(ctx context.Context, conn *memcached.Conn) (*api.State, error) {
	version, err := conn.Version(ctx)
	if err != nil {
		return nil, err
	}
	general, err := conn.Stats(ctx, "")
	if err != nil {
		return nil, err
	}
	stats, err := numbers(general)
	if err != nil {
		return nil, err
	}
	slabs, err := conn.Stats(ctx, "slabs")
	if err != nil {
		return nil, err
	}
	held, err := memory.Held(general, slabs)
	if err != nil {
		return nil, err
	}
	return &api.State{
		Version: version, Process: stats["pid"], Items: stats["curr_items"],
		Hits: stats["get_hits"], Misses: stats["get_misses"], Evictions: stats["evictions"],
		CacheMemory: held,
	}, nil
}

// numbers returns those of memcached's general statistics that the agent needs.
func numbers(general memcached.Stats) (map[string]int64, error) {
	all := map[string]int64{}
	var err error
	for _, name := range []string{"pid", "curr_items", "get_hits", "get_misses", "evictions"} {
		if all[name], err = general.Int(name); err != nil {
			return nil, err
		}
	}
	return all, nil
}
