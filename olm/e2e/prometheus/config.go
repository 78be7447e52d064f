package prometheus

import (
	"fmt"
	"time"

	"sigs.k8s.io/yaml"
)

// Config configures a Prometheus.
type Config struct {
	// Groups are spec.groups of a PrometheusRule.
	Groups []any
	Jobs   []Job
}

// Job has the targets that are scraped in the same way.
type Job struct {
	Name string
	// TokenFile holds the token to send over HTTPS. Empty for plain HTTP.
	TokenFile string
	// Relabelings are the relabelings of an endpoint of a ServiceMonitor.
	Relabelings []any
	Targets     []Target
}

// Target is one thing to scrape.
type Target struct {
	// Address is host:port.
	Address string
	// Labels are added to all its metrics.
	Labels map[string]string
}

// ShortenFor sets "for" of every alert in the groups that has it to d, so that alerts that wait for minutes fire within a test.
// It returns how many have it.
func ShortenFor(groups []any, d time.Duration) (shortened int, err error) {
	for _, group := range groups {
		fields, _ := group.(map[string]any)
		rules, ok := fields["rules"].([]any)
		if !ok {
			return 0, fmt.Errorf("this is no group of rules: %v", group)
		}
		for _, rule := range rules {
			fields, _ := rule.(map[string]any)
			if fields["for"] != nil {
				fields["for"], shortened = d.String(), shortened+1
			}
		}
	}
	return shortened, nil
}

// file returns the configuration file, which refers to the file of rules. The timeout of a scrape is Prometheus' default.
func (c Config) file(rules string) ([]byte, error) {
	var jobs []any
	for _, job := range c.Jobs {
		made, err := job.config()
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", job.Name, err)
		}
		jobs = append(jobs, made)
	}
	return yaml.Marshal(map[string]any{
		"global":         map[string]any{"scrape_interval": "10s", "scrape_timeout": "10s", "evaluation_interval": "1s"},
		"rule_files":     []string{rules},
		"scrape_configs": jobs,
	})
}

func (j Job) config() (map[string]any, error) {
	var targets []any
	for _, target := range j.Targets {
		targets = append(targets, map[string]any{"targets": []string{target.Address}, "labels": target.Labels})
	}
	config := map[string]any{"job_name": j.Name, "static_configs": targets}
	if j.TokenFile != "" {
		config["scheme"] = "https"
		config["authorization"] = map[string]any{"credentials_file": j.TokenFile}
		config["tls_config"] = map[string]any{"insecure_skip_verify": true}
	}
	var relabelings []any
	for _, relabeling := range j.Relabelings {
		fields, ok := relabeling.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("this is no relabeling: %v", relabeling)
		}
		config := map[string]any{}
		for key, value := range fields {
			name, known := relabelingKeys[key]
			if !known {
				return nil, fmt.Errorf("the name of a relabeling's %s in Prometheus is not known here: add it", key)
			}
			config[name] = value
		}
		relabelings = append(relabelings, config)
	}
	if len(relabelings) > 0 {
		config["relabel_configs"] = relabelings
	}
	return config, nil
}

// relabelingKeys are Prometheus' names for the fields of a ServiceMonitor's relabelings.
var relabelingKeys = map[string]string{"action": "action", "targetLabel": "target_label", "replacement": "replacement"}
