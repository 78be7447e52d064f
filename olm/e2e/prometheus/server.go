package prometheus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
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

// Server is a Prometheus that runs on a port of loopback.
type Server struct {
	// API asks it.
	v1.API

	process *exec.Cmd
	log     string
	stop    func() error
}

// Start runs the program, which keeps everything in the directory, and waits until it answers.
func Start(ctx context.Context, program, directory string, config Config) (*Server, error) {
	file, err := config.write(directory)
	if err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	s := &Server{log: filepath.Join(directory, "prometheus.log")}
	log, err := os.Create(s.log)
	if err != nil {
		return nil, fmt.Errorf("keep what Prometheus logs: %w", err)
	}
	defer log.Close() // The process has its own.
	s.process = exec.Command(program, "--config.file="+file, "--web.listen-address="+address, "--storage.tsdb.path="+filepath.Join(directory, "data"))
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		return nil, fmt.Errorf("start Prometheus: %w", err)
	}
	s.stop = sync.OnceValue(s.end)
	client, err := api.NewClient(api.Config{Address: "http://" + address})
	if err == nil {
		s.API = v1.NewAPI(client)
		err = walk.Within(ctx, time.Minute, "Prometheus to be ready", func(ctx context.Context) error { return ready(ctx, address) })
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop(), errors.New(s.Log()))
	}
	return s, nil
}

// write writes the configuration and the rules, and returns the name of the first.
func (c Config) write(directory string) (string, error) {
	file, rules := filepath.Join(directory, "prometheus.yml"), filepath.Join(directory, "rules.yml")
	config, err := c.file(rules)
	if err != nil {
		return "", fmt.Errorf("configure Prometheus: %w", err)
	}
	groups, err := yaml.Marshal(map[string]any{"groups": c.Groups})
	if err != nil {
		return "", fmt.Errorf("configure Prometheus: %w", err)
	}
	for name, content := range map[string][]byte{file: config, rules: groups} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return "", fmt.Errorf("configure Prometheus: %w", err)
		}
	}
	return file, nil
}

// freeAddress is one of loopback that nobody listens on.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("look for a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

func ready(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/-/ready", http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %s", response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

// Stop ends it and waits until it has ended. It may be called again.
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

// Log is what it has logged so far, or why that cannot be read.
func (s *Server) Log() string {
	content, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(content)
}

// Samples are the values that an expression has now, each with its labels. One that yields no instant vector is an error.
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

// Firing are the alerts that fire, each as its name and what it is about: "MemcachedDown cache-0", "MemcachedNotReady".
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
