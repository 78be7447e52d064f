package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// site is what visitors see.
type site struct {
	pod, greeting string
	// bindings is the directory with one directory for each cache; empty when no cache is bound.
	bindings string
	counter  interface {
		visit(ctx context.Context) (uint64, error)
	}
}

// page is the answer to a visit. Exactly one of Visits and Problem is there.
type page struct {
	Pod      string `json:"pod"`
	Greeting string `json:"greeting,omitempty"`
	// Visits is how many there have been, this one included, as far as the cache remembers.
	Visits uint64 `json:"visits,omitempty"`
	// Problem is what kept the visit from being counted.
	Problem string `json:"problem,omitempty"`
}

func (s site) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		answer := page{Pod: s.pod, Greeting: s.greeting}
		visits, err := s.counter.visit(r.Context())
		if err != nil {
			answer.Problem = err.Error()
		} else {
			answer.Visits = visits
		}
		write(w, answer)
	})
	mux.HandleFunc("GET /binding", func(w http.ResponseWriter, _ *http.Request) {
		bound, err := readBindings(s.bindings)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		write(w, bound)
	})
	return mux
}

func write(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	// A visitor who has gone away is the only way for this to fail.
	_ = json.NewEncoder(w).Encode(answer)
}

// shown are the entries of a binding whose values may be shown to everybody.
var shown = map[string]bool{"type": true, "provider": true, "host": true, "port": true}

// readBindings reads root as https://servicebinding.io lays it out: a directory for each binding, a file for each entry.
// A cache whose binding is not there yet has an empty directory.
func readBindings(root string) (map[string]map[string]string, error) {
	bound := map[string]map[string]string{}
	if root == "" {
		return bound, nil
	}
	bindings, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("list the bindings: %w", err)
	}
	for _, binding := range bindings {
		entries, err := os.ReadDir(filepath.Join(root, binding.Name()))
		if err != nil {
			return nil, fmt.Errorf("list the binding %s: %w", binding.Name(), err)
		}
		bound[binding.Name()] = map[string]string{}
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), "..") { // How the kubelet replaces all entries at once.
				continue
			}
			value := "(not shown)"
			if shown[entry.Name()] {
				content, err := os.ReadFile(filepath.Join(root, binding.Name(), entry.Name()))
				if err != nil {
					return nil, fmt.Errorf("read the binding %s: %w", binding.Name(), err)
				}
				value = string(content)
			}
			bound[binding.Name()][entry.Name()] = value
		}
	}
	return bound, nil
}
