//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/memcached-operator/olm/walk"
)

// T2, T3: with the CRDs installed, the operator runs on the developer's machine.
func TestRunOutOfCluster(t *testing.T) {
	ctx := fresh(t)
	run(ctx, t, "make", "install")
	t.Cleanup(func() { run(context.Background(), t, "make", "uninstall") })
	contains(t, kubectl(ctx, t, "get", "crds"), walk.MemcachedCRD)

	log := startOperator(t)
	create(t, "default", "example-memcached.yaml")
	_, err := suite.cluster.WaitReady(ctx, inDefault("example-memcached"), 3, 2*time.Minute)
	must(t, err)
	for line := range strings.Lines(log.stop(t)) {
		if strings.Contains(line, `"level":"ERROR"`) {
			t.Errorf("the operator logged an error: %s", line)
		}
	}
}

// startOperator starts `make run` in a process group of its own.
func startOperator(t *testing.T) *background {
	t.Helper()
	b := &background{cmd: exec.Command("make", "run")}
	b.cmd.Dir, b.cmd.Stdout, b.cmd.Stderr = suite.root, &b.out, &b.out
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, b.cmd.Start())
	t.Cleanup(func() { b.stop(t) })
	return b
}

// background is a process that the test stops.
type background struct {
	cmd     *exec.Cmd
	out     strings.Builder
	stopped bool
}

// stop interrupts the whole group, waits for it, and returns what it printed.
func (b *background) stop(t *testing.T) string {
	t.Helper()
	if b.stopped {
		return b.out.String()
	}
	b.stopped = true
	must(t, syscall.Kill(-b.cmd.Process.Pid, syscall.SIGINT))
	var exit *exec.ExitError
	if err := b.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Errorf("make run: %v", err)
	}
	if t.Failed() {
		t.Logf("make run printed:\n%s", b.out.String())
	}
	return b.out.String()
}

// T4, T5: the operator is deployed without OLM, and removed.
func TestDeployWithoutOLM(t *testing.T) {
	ctx := fresh(t)
	// A new tag each time: a node that has an image of the tag does not pull it again.
	image := fmt.Sprintf("IMG=%s/example/memcached-operator:e2e-%d", suite.registry, time.Now().Unix())
	run(ctx, t, "make", "docker-build", "docker-push", image)
	run(ctx, t, "make", "deploy", image)
	t.Cleanup(func() { run(context.Background(), t, "make", "undeploy", image) })

	must(t, walk.Within(ctx, 2*time.Minute, "the controller manager to be 1/1", func(ctx context.Context) error {
		out, err := suite.cluster.Kubectl(ctx, "get", "deployment", "-n", walk.Namespace)
		if err == nil && (!strings.Contains(out, "memcached-operator-controller-manager") || !strings.Contains(out, "1/1")) {
			err = errors.New(out)
		}
		return err
	}))
	contains(t, kubectl(ctx, t, "get", "service", "-n", walk.Namespace), "memcached-operator-controller-manager-metrics-service", "8443/TCP")
	contains(t, kubectl(ctx, t, "get", "serviceaccount", "-n", walk.Namespace), "memcached-operator-controller-manager")
	contains(t, kubectl(ctx, t, "get", "clusterroles,clusterrolebindings", "-o", "name"),
		"clusterrole.rbac.authorization.k8s.io/memcached-operator", "clusterrolebinding.rbac.authorization.k8s.io/memcached-operator")
	create(t, "default", "example-memcached.yaml")
	_, err := suite.cluster.WaitReady(ctx, inDefault("example-memcached"), 3, 2*time.Minute)
	must(t, err)
	must(t, walk.Within(ctx, 30*time.Second, "the log to have a line", func(ctx context.Context) error {
		log, err := suite.cluster.Kubectl(ctx, "logs", "-n", walk.Namespace, "deployment/memcached-operator-controller-manager")
		if err == nil && (!strings.Contains(log, `"level":"INFO"`) || !strings.Contains(log, "Ready is True")) {
			err = fmt.Errorf("it is:\n%s", log)
		}
		return err
	}))

	run(ctx, t, "make", "undeploy", image)
	must(t, walk.Within(ctx, 2*time.Minute, "everything to be gone", func(ctx context.Context) error {
		out, err := suite.cluster.Kubectl(ctx, "get", "namespaces,crds,clusterroles,clusterrolebindings", "-o", "name")
		for line := range strings.Lines(out) {
			if strings.Contains(line, "memcached") {
				err = errors.Join(err, fmt.Errorf("still there: %s", strings.TrimSpace(line)))
			}
		}
		return err
	}))
}
