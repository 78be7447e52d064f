package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
)

// site serves the pages of the application.
type site struct {
	pod string
	// bindings is the directory with a directory for each cache. Empty if no cache is bound.
	bindings string
	counter  *counter
}

// page is the answer to a visit. It has either Visits or Problem.
type page struct {
	Pod string `json:"pod"`
	// Visits is the number of visits that the caches remember, including this one.
	Visits uint64 `json:"visits,omitempty"`
	// Problem is why the visit was not counted.
	Problem string `json:"problem,omitempty"`
}

func (s site) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		answer := page{Pod: s.pod}
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
	// This fails only if the visitor has gone away.
	_ = json.NewEncoder(w).Encode(answer)
}

// shown are the entries of a binding that are not secret.
var shown = []string{"type", "provider", "host", "port"}

// readBindings reads root as https://servicebinding.io specifies it: a directory for each binding, a file for each entry.
func readBindings(root string) (map[string]map[string]string, error) {
	bound := map[string]map[string]string{}
	if root == "" {
		return bound, nil
	}
	// Names with a dot are links by which the kubelet replaces all entries at once.
	entries, err := filepath.Glob(filepath.Join(root, "*", "[^.]*"))
	if err != nil {
		return nil, fmt.Errorf("list the bindings: %w", err)
	}
	for _, path := range entries {
		binding, entry := filepath.Base(filepath.Dir(path)), filepath.Base(path)
		value := "(not shown)"
		if slices.Contains(shown, entry) {
			content, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("read the binding %s: %w", binding, err)
			}
			value = string(content)
		}
		if bound[binding] == nil {
			bound[binding] = map[string]string{}
		}
		bound[binding][entry] = value
	}
	return bound, nil
}
