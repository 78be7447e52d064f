package prometheus

import (
	"fmt"
	"time"

	"sigs.k8s.io/yaml"
)

// Config is what a Prometheus is to do.
type Config struct {
	// Interval is the time between two scrapes. A scrape may take as long. Rules are evaluated every second.
	Interval time.Duration
	// Groups are those of a PrometheusRule (spec.groups).
	Groups []any
	Jobs   []Job
}

// Job is what is scraped in the same way.
type Job struct {
	Name string
	// TokenFile holds the token to show, over HTTPS; empty for plain HTTP.
	TokenFile string
	// Relabelings are those of an endpoint of a ServiceMonitor.
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

// Quickly returns the groups of rules with every alert's "for" set to d if it had one, and how many had: alerts that wait
// for minutes fire within a test.
func Quickly(groups []any, d time.Duration) (quick []any, shortened int, err error) {
	for _, group := range groups {
		fields, ok := group.(map[string]any)
		rules, isList := fields["rules"].([]any)
		if !ok || !isList {
			return nil, 0, fmt.Errorf("this is no group of rules: %v", group)
		}
		copied := map[string]any{"name": fields["name"]}
		var quickRules []any
		for _, rule := range rules {
			quickRule := map[string]any{}
			for key, value := range rule.(map[string]any) {
				if key == "for" {
					value, shortened = d.String(), shortened+1
				}
				quickRule[key] = value
			}
			quickRules = append(quickRules, quickRule)
		}
		copied["rules"] = quickRules
		quick = append(quick, copied)
	}
	return quick, shortened, nil
}

// file is the configuration file. The rules are in the file of that name.
func (c Config) file(rules string) ([]byte, error) {
	var jobs []any
	for _, job := range c.Jobs {
		made, err := job.config()
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", job.Name, err)
		}
		jobs = append(jobs, made)
	}
	interval := c.Interval.String()
	return yaml.Marshal(map[string]any{
		"global":         map[string]any{"scrape_interval": interval, "scrape_timeout": interval, "evaluation_interval": "1s"},
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
				return nil, fmt.Errorf("how Prometheus calls a relabeling's %s is not known here: add it", key)
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

// relabelingKeys are the names that Prometheus has for the fields of a ServiceMonitor's relabelings.
var relabelingKeys = map[string]string{"action": "action", "targetLabel": "target_label", "replacement": "replacement"}
