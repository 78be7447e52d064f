//go:build e2e

package e2e

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/olm/walk"
	"github.com/example/memcached-operator/operator/kube/pods"
)

// program is the name of a program in pods of the local cluster, whose processes this machine runs.
type program string

const (
	operatorProgram  program = "manager"
	memcachedProgram program = "memcached"
	agentProgram     program = "agent"
)

// processes returns the IDs of the processes of the program in a pod.
func (p program) processes(pod *corev1.Pod) (found []int, err error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, err
	}
	for _, process := range all {
		// A process may end meanwhile, so errors about one count as its end.
		groups, err := process.Cgroups()
		if err != nil || !slices.ContainsFunc(groups, func(g procfs.Cgroup) bool { return strings.Contains(g.Path, "pod"+string(pod.UID)) }) {
			continue
		}
		if name, err := process.Comm(); err == nil && name == string(p) {
			found = append(found, process.PID)
		}
	}
	return found, nil
}

// process returns the ID of the only process of the program in a pod.
func (p program) process(t *testing.T, pod corev1.Pod) int {
	t.Helper()
	found, err := p.processes(&pod)
	must(t, err)
	if len(found) != 1 {
		t.Fatalf("%s in pod %s has the processes %v, want one", p, pod.Name, found)
	}
	return found[0]
}

// kill ends the program at once.
func (p program) kill(t *testing.T, pod corev1.Pod) {
	t.Helper()
	must(t, syscall.Kill(p.process(t, pod), syscall.SIGKILL))
}

// hang stops the program, until the function that it returns is called or the test ends.
func (p program) hang(t *testing.T, pod corev1.Pod) (goOn func()) {
	t.Helper()
	process := p.process(t, pod)
	must(t, syscall.Kill(process, syscall.SIGSTOP))
	hangs := true
	goOn = func() {
		if hangs {
			hangs = false
			must(t, syscall.Kill(process, syscall.SIGCONT))
		}
	}
	t.Cleanup(goOn)
	return goOn
}

// unreadyFor is how long a pod is not ready at least if it has become so. A busy kubelet may report a pod as ready after a restart, and then
// as not ready for up to a second, until it has probed it again.
const unreadyFor = 3 * time.Second

// becomes waits until a pod is ready, or has become not ready.
func (p *production) becomes(name string, ready bool, d time.Duration) {
	p.t.Helper()
	what := name + " to be ready"
	if !ready {
		what = name + " not to be ready"
	}
	must(p.t, walk.Within(p.t.Context(), d, what, func(context.Context) error {
		pod, there := p.pods()[name]
		if !there || pods.Ready(&pod) != ready || !ready && time.Since(pods.ReadinessSince(&pod)) < unreadyFor {
			return errors.New("it is not so")
		}
		return nil
	}))
}

// rests fails the test if within the time a pod is replaced, a container restarts, or an image in a pod is changed.
func (p *production) rests(before map[string]corev1.Pod, d time.Duration) {
	p.t.Helper()
	changed := ""
	err := walk.Within(p.t.Context(), d, "a change of the pods", func(context.Context) error {
		if changed = p.changed(before); changed != "" {
			return nil
		}
		return errors.New("there is none")
	})
	if err == nil {
		p.t.Errorf("it was not waited: %s", changed)
	}
}

// changed says which pod has been replaced, restarted or given another image, empty if none has.
func (p *production) changed(before map[string]corev1.Pod) string {
	p.t.Helper()
	now := p.pods()
	for name, pod := range before {
		after, there := now[name]
		switch {
		case !there || after.UID != pod.UID:
			return name + " was replaced"
		case imageOf(&after) != imageOf(&pod):
			return name + " was given the image " + imageOf(&after)
		}
		earlier := containerRestarts(&pod)
		for container, restarts := range containerRestarts(&after) {
			if restarts != earlier[container] {
				return container + " in " + name + " was restarted"
			}
		}
	}
	return ""
}

// runIDs names the current run of the memcached in each pod, as its agent sees it: a restart shows there at once.
func (p *production) runIDs() map[string]string {
	p.t.Helper()
	runs := map[string]string{}
	for name, pod := range p.pods() {
		must(p.t, walk.Within(p.t.Context(), 30*time.Second, "the agent of "+name+" to tell the state", func(ctx context.Context) error {
			state, err := stateOf(ctx, &pod)
			if err == nil {
				runs[name] = state.Run
			}
			return err
		}))
	}
	return runs
}
