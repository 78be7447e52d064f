//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The demo runs on a cluster that the Makefile did not start, with images in a registry of the user's choice.
func TestBringYourOwnCluster(t *testing.T) {
	ctx := fresh(t)
	kubeconfig := filepath.Join(t.TempDir(), "theirs.kubeconfig")
	content, err := os.ReadFile(os.Getenv("KUBECONFIG"))
	must(t, err)
	must(t, os.WriteFile(kubeconfig, content, 0o600))
	demo := func(registry string) (string, error) {
		return command(ctx, "env", "KUBECONFIG="+kubeconfig, "REGISTRY="+registry, "OPERANDS="+os.Getenv("E2E_OPERANDS"),
			"make", "demo", "STAGE="+filepath.Join(t.TempDir(), "stage"))
	}

	for registry, says := range map[string]string{
		"":                        "REGISTRY=",
		"localhost:1/nobody-here": "localhost:1",
	} {
		out, err := demo(registry)
		if err == nil {
			t.Errorf("REGISTRY=%q was taken", registry)
		}
		contains(t, out, says)
		if strings.Contains(out, "pushed") || strings.Contains(out, "building") {
			t.Errorf("REGISTRY=%q: something was built before it was refused:\n%s", registry, out)
		}
	}

	out, err := demo(suite.registry + "/theirs")
	must(t, err)
	contains(t, out, suite.registry+"/theirs/memcached-operator-catalog", "Succeeded", "3/3", "get greeting -> ")
}
