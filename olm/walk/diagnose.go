package walk

import (
	"context"
	"fmt"
	"strings"
)

// Diagnose returns what helps to find out why an installation or a cache does not become ready: OLM's objects, resources, pods,
// logs and events.
func (c *Cluster) Diagnose(ctx context.Context) string {
	var out strings.Builder
	for _, args := range [][]string{
		{"get", "catalogsources,subscriptions.operators.coreos.com,installplans,clusterserviceversions", "-A", "-o", "wide"},
		{"get", "subscriptions.operators.coreos.com", "-A", "-o", "jsonpath={range .items[*]}{.metadata.name}{\": \"}{.status.conditions}{\"\\n\"}{end}"},
		{"get", "installplans", "-A", "-o", "jsonpath={range .items[*]}{.metadata.name}{\": \"}{.status.phase}{\" \"}{.status.conditions}{\" \"}{.status.bundleLookups[*].conditions}{\"\\n\"}{end}"},
		{"get", "operatorconditions", "-A", "-o", "yaml"},
		{"get", "clustercatalogs,clusterextensions", "-o", "yaml"},
		{"get", MemcachedCRD, "-A", "-o", "yaml"},
		{"get", ApplicationCRD, "-A", "-o", "yaml"},
		{"describe", "deployments,pods", "-n", Namespace},
		{"get", "deployments,pods,jobs", "-A", "-o", "wide"},
		{"get", "events", "-A", "--sort-by=.metadata.creationTimestamp"},
		{"logs", "-n", Namespace, "-l", "app.kubernetes.io/name=memcached-operator", "--tail=60"},
	} {
		stdout, err := c.Kubectl(ctx, args...)
		fmt.Fprintf(&out, "\n--- kubectl %s\n%s", strings.Join(args, " "), stdout)
		if err != nil {
			fmt.Fprintf(&out, "%v\n", err)
		}
	}
	return out.String()
}
