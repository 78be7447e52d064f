//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/walk"
)

// policyLabel is the label of a namespace in which the policies apply.
const policyLabel = "example.com/policies=apply"

// installPolicies creates the policies, and removes them when the test ends.
func installPolicies(t *testing.T) {
	t.Helper()
	file := filepath.Join(suite.root, "olm", "e2e", "testdata", "policies.yaml")
	kubectl(t.Context(), t, "apply", "-f", file)
	t.Cleanup(func() { must(t, suite.cluster.Delete(context.Background(), "-f", file)) })
}

// applyPolicies makes the policies apply in a namespace from now on.
func applyPolicies(t *testing.T, namespace string) {
	t.Helper()
	kubectl(t.Context(), t, "label", "namespace", namespace, policyLabel)
	for what, probe := range map[string][]string{
		"gold": {"create", "deployment", "probe", "--image=probe", "-o", "jsonpath={.spec.template.spec.priorityClassName}"},
		"shop": {"run", "probe", "--image=probe", "-o", "jsonpath={.spec.containers[0].env[0].value}"},
	} {
		must(t, walk.Within(t.Context(), 30*time.Second, "the policies to apply in "+namespace, func(ctx context.Context) error {
			says, err := suite.cluster.Kubectl(ctx, append(probe, "-n", namespace, "--dry-run=server")...)
			if err == nil && says != what {
				err = errors.New("there is no policy yet")
			}
			if err != nil {
				return fmt.Errorf("%q: %w", says, err)
			}
			return nil
		}))
	}
}
