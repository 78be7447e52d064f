package prometheus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/olm/walk"
)

// Server is a Prometheus that listens on loopback.
type Server struct {
	v1.API

	process *exec.Cmd
	log     string
	stop    func() error
}

// Start starts the program, which keeps its files in the directory, and waits until it is ready.
func Start(ctx context.Context, program, directory string, config Config) (*Server, error) {
	file, err := config.write(directory)
	if err != nil {
		return nil, fmt.Errorf("configure Prometheus: %w", err)
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	s := &Server{log: filepath.Join(directory, "prometheus.log")}
	log, err := os.Create(s.log)
	if err != nil {
		return nil, fmt.Errorf("create the log of Prometheus: %w", err)
	}
	defer log.Close() // The process has a descriptor of its own.
	s.process = exec.Command(program, "--config.file="+file, "--web.listen-address="+address, "--storage.tsdb.path="+filepath.Join(directory, "data"))
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		return nil, fmt.Errorf("start Prometheus: %w", err)
	}
	s.stop = sync.OnceValue(s.end)
	client, err := api.NewClient(api.Config{Address: "http://" + address})
	if err == nil {
		s.API = v1.NewAPI(client)
		err = walk.Within(ctx, time.Minute, "Prometheus to be ready", func(ctx context.Context) error {
			_, err := s.Buildinfo(ctx) // The API answers once Prometheus is ready.
			return err
		})
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop(), errors.New(s.Log()))
	}
	return s, nil
}

// write writes the configuration and the rules, and returns the path of the configuration.
func (c Config) write(directory string) (string, error) {
	file, rules := filepath.Join(directory, "prometheus.yml"), filepath.Join(directory, "rules.yml")
	config, err := c.file(rules)
	if err != nil {
		return "", err
	}
	groups, err := yaml.Marshal(map[string]any{"groups": c.Groups})
	if err != nil {
		return "", err
	}
	return file, errors.Join(os.WriteFile(file, config, 0o600), os.WriteFile(rules, groups, 0o600))
}

// freeAddress returns a loopback address on which nothing listens.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("look for a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// Stop stops Prometheus and waits until it has ended. It may be called again.
func (s *Server) Stop() error { return s.stop() }

func (s *Server) end() error {
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop Prometheus: %w", err)
	}
	if err := s.process.Wait(); err != nil {
		return fmt.Errorf("run Prometheus: %w", err)
	}
	return nil
}

// Log returns what Prometheus has logged so far, or why that cannot be read.
func (s *Server) Log() string {
	content, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(content)
}

// Samples returns the current values of an expression. It must yield an instant vector.
func (s *Server) Samples(ctx context.Context, expression string) (model.Vector, error) {
	value, warnings, err := s.Query(ctx, expression, time.Now())
	if err != nil {
		return nil, fmt.Errorf("ask Prometheus for %s: %w", expression, err)
	}
	if len(warnings) > 0 {
		return nil, fmt.Errorf("ask Prometheus for %s: it warns of %v", expression, warnings)
	}
	vector, ok := value.(model.Vector)
	if !ok {
		return nil, fmt.Errorf("ask Prometheus for %s: it is a %s", expression, value.Type())
	}
	return vector, nil
}

// Firing returns the alerts that fire, each with the pod in its labels if it has one: "MemcachedDown cache-0",
// "MemcachedNotReady".
func (s *Server) Firing(ctx context.Context) ([]string, error) {
	result, err := s.Alerts(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask Prometheus for its alerts: %w", err)
	}
	var firing []string
	for _, alert := range result.Alerts {
		if alert.State != v1.AlertStateFiring {
			continue
		}
		name := string(alert.Labels[model.AlertNameLabel])
		if pod, ok := alert.Labels["pod"]; ok {
			name += " " + string(pod)
		}
		firing = append(firing, name)
	}
	return firing, nil
}
