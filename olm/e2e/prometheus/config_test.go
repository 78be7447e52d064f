package prometheus

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const wanted = `global:
  evaluation_interval: 1s
  scrape_interval: 10s
  scrape_timeout: 10s
rule_files:
- rules.yml
scrape_configs:
- job_name: cache
  relabel_configs:
  - action: replace
    replacement: cache
    target_label: memcached
  static_configs:
  - labels:
      namespace: default
      pod: cache-0
    targets:
    - 198.18.0.9:9150
- authorization:
    credentials_file: /token
  job_name: operator
  scheme: https
  static_configs:
  - labels: null
    targets:
    - 127.0.0.1:8443
  tls_config:
    insecure_skip_verify: true
`

func TestObjectsBecomeAConfiguration(t *testing.T) {
	config := Config{Jobs: []Job{
		{Name: "cache", Relabelings: []any{map[string]any{"action": "replace", "targetLabel": "memcached", "replacement": "cache"}},
			Targets: []Target{{Address: "198.18.0.9:9150", Labels: map[string]string{"namespace": "default", "pod": "cache-0"}}}},
		{Name: "operator", TokenFile: "/token", Targets: []Target{{Address: "127.0.0.1:8443"}}},
	}}
	got, err := config.file("rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAnUnknownFieldOfARelabelingIsAnError(t *testing.T) {
	config := Config{Jobs: []Job{{Name: "cache", Relabelings: []any{map[string]any{"regex": "x"}}}}}
	if _, err := config.file("rules.yml"); err == nil || !strings.Contains(err.Error(), "regex") {
		t.Errorf("the error is %v", err)
	}
}

func TestOnlyForIsShortened(t *testing.T) {
	var groups []any
	if err := yaml.Unmarshal([]byte(`[{name: a, rules: [{alert: x, expr: up == 0, for: 10m}, {record: y, expr: up}]}, {name: b, rules: [{alert: z, expr: up}]}]`), &groups); err != nil {
		t.Fatal(err)
	}
	shortened, err := ShortenFor(groups, 5*time.Second)
	if err != nil || shortened != 1 {
		t.Fatalf("shortened %d: %v", shortened, err)
	}
	var want []any
	if err := yaml.Unmarshal([]byte(`[{name: a, rules: [{alert: x, expr: up == 0, for: 5s}, {record: y, expr: up}]}, {name: b, rules: [{alert: z, expr: up}]}]`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, groups); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := ShortenFor([]any{"nonsense"}, time.Second); err == nil {
		t.Error("nonsense was taken for a group")
	}
}

func TestAMissingProgramIsAnError(t *testing.T) {
	if _, err := Start(t.Context(), filepath.Join(t.TempDir(), "nothing"), t.TempDir(), Config{}); err == nil || !strings.Contains(err.Error(), "start Prometheus") {
		t.Errorf("the error is %v", err)
	}
}
