//go:build faults

package faults_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/example/memcached-operator/operator/faults/inject"
	"github.com/example/memcached-operator/operator/faults/oracle"
	"github.com/example/memcached-operator/operator/internal/testkit/cluster"
)

// restartsAtOnce is how many of the plans that restart a part of the control plane run at a time: each meets the restarts of the others too.
const restartsAtOnce = 8

// gathering is how long a restart waits for the requests of other plans, which are held back until then. It has to be shorter than what a
// reconcile may take.
const gathering = 2 * time.Second

// requests is locked while a part of the control plane is down: users and tests make their own requests before or after.
var requests sync.RWMutex

// undisturbed makes requests of users, while the control plane is up.
func undisturbed(do func() error) error {
	requests.RLock()
	defer requests.RUnlock()
	return do()
}

// outages restart a part of the control plane. Requests that come at about the same time share a restart.
type outages struct {
	part  cluster.Part
	mutex sync.Mutex
	next  *outage
}

// outage is a restart.
type outage struct {
	down, up chan struct{} // Closed as soon as the part is down, and up again.
	err      error
}

var (
	ofAPIServer = &outages{part: cluster.APIServer}
	ofEtcd      = &outages{part: cluster.Etcd}
)

// join returns the next restart.
func (o *outages) join() *outage {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.next == nil {
		o.next = &outage{down: make(chan struct{}), up: make(chan struct{})}
		time.AfterFunc(gathering, o.restart)
	}
	return o.next
}

// restart kills the part and starts it again.
func (o *outages) restart() {
	requests.Lock()
	defer requests.Unlock()
	o.mutex.Lock()
	now := o.next
	o.next = nil
	o.mutex.Unlock()
	killed := o.part.Kill()
	close(now.down)
	now.err = errors.Join(killed, o.part.Start())
	close(now.up)
}

// before lets a request meet a part that is down.
func (o *outages) before(s *scene) inject.Action {
	return inject.Before(func() { o.happen(s) })
}

// after restarts the part as soon as a request is done.
func (o *outages) after(s *scene) inject.Action {
	if o.part == cluster.APIServer { // It ends before it answers.
		return func(request *http.Request, send http.RoundTripper) (*http.Response, error) {
			defer o.happen(s)
			return inject.LoseAnswer(request, send)
		}
	}
	return inject.After(func() { o.happen(s) })
}

// happen returns as soon as the part is down. The fault is under way until it is up again.
func (o *outages) happen(s *scene) {
	over, now := s.happening(), o.join()
	go func() {
		defer over()
		<-now.up
		if now.err != nil && s.Context().Err() == nil {
			s.Errorf("restart %s: %v", o.part, now.err)
		}
	}()
	<-now.down
}

// restarts returns those of F9 in which the API server or etcd restarts: each once in each workload, at a write that is always the same.
// Every other workload meets it before the write, the others afterwards.
func restarts(w *workload, b *baseline) (all []*plan) {
	even := slices.Index(workloads, w)%2 == 0
	for _, o := range []*outages{ofAPIServer, ofEtcd} {
		name, action := fmt.Sprintf("%s-before", o.part), o.before
		if even == (o == ofEtcd) {
			name, action = fmt.Sprintf("%s-after", o.part), o.after
		}
		order := func(call inject.Call) uint64 { return hash(name + call.String()) }
		call := slices.MinFunc(slices.DeleteFunc(slices.Clone(b.Calls), func(c inject.Call) bool { return !c.Writes() }),
			func(one, other inject.Call) int { return cmp.Compare(order(one), order(other)) })
		all = append(all, &plan{
			class: "F9", name: name, workload: w, where: call.String(), restarts: true, sparesPods: true,
			arm: func(s *scene) func() int { return on(action)(s, call) },
		})
	}
	return all
}

// countsAnew tells whether a revision of a StatefulSet is number one, which it is not without the fault. If Kubernetes' controller sees a
// StatefulSet after a restart of the API server, but not yet its revisions from before, it counts from one again, and takes the newest revision
// for the current one.
func countsAnew(state oracle.State, normal oracle.Baseline) bool {
	return len(normal.Differences(state, func(field string) bool { return !isNumber(field) || state[field] != "1" })) > 0
}

// ofCounting matches what then differs. The operator does not read it.
func ofCounting(field string) bool {
	key, name, _ := strings.Cut(field, ": ")
	return isNumber(field) || strings.HasPrefix(key, "statefulsets/") && (name == "status.currentRevision" || name == "status.currentReplicas")
}

// isNumber matches the number of a revision of a StatefulSet.
func isNumber(field string) bool {
	key, name, _ := strings.Cut(field, ": ")
	return isRevision(key) && name == "revision"
}
