package inject

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Action does what becomes of a request. send sends it on to the API server.
type Action func(request *http.Request, send http.RoundTripper) (*http.Response, error)

// Record is a request that was made.
type Record struct {
	Call

	// Namespace is empty for requests that concern the whole cluster.
	Namespace string

	// Code is the status of the answer, 0 without one.
	Code int

	// Injected tells whether an action has decided what became of it.
	Injected bool
}

// String is that of the call, with the status of an answer that says it was not done.
func (r Record) String() string {
	if r.Code == 0 || r.Code >= 400 {
		return fmt.Sprintf("%s (%d)", r.Call, r.Code)
	}
	return r.Call.String()
}

// Injector records the requests of all processes of an operator, and lets actions decide what becomes of some of them.
type Injector struct {
	mutex   sync.Mutex
	numbers map[Call]int
	records []Record
	rules   []*rule
}

type rule struct {
	matches func(Call) bool
	action  Action
	reached int
}

// New returns an injector without any action.
func New() *Injector { return &Injector{numbers: map[Call]int{}} }

// On lets an action decide on the requests that match. The first action that was set for a request decides. reached returns how many there
// were.
func (i *Injector) On(matches func(Call) bool, action Action) (reached func() int) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	added := &rule{matches: matches, action: action}
	i.rules = append(i.rules, added)
	return func() int {
		i.mutex.Lock()
		defer i.mutex.Unlock()
		return added.reached
	}
}

// Is matches one call.
func Is(wanted Call) func(Call) bool {
	return func(call Call) bool { return call == wanted }
}

// Records returns what was requested so far.
func (i *Injector) Records() []Record {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return append([]Record(nil), i.records...)
}

// Writes returns how many requests were made so far that may change something.
func (i *Injector) Writes() int {
	n := 0
	for _, record := range i.Records() {
		if record.Writes() {
			n++
		}
	}
	return n
}

// Injected returns on how many requests actions have decided so far.
func (i *Injector) Injected() int {
	n := 0
	for _, record := range i.Records() {
		if record.Injected {
			n++
		}
	}
	return n
}

// begin records a request.
func (i *Injector) begin(call Call, namespace string) (index int, action Action) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.numbers[call]++
	call.Number = i.numbers[call]
	index = len(i.records)
	i.records = append(i.records, Record{Call: call, Namespace: namespace})
	for _, rule := range i.rules {
		if rule.matches(call) {
			rule.reached++
			i.records[index].Injected = true
			return index, rule.action
		}
	}
	return index, nil
}

func (i *Injector) end(index int, response *http.Response) {
	if response != nil {
		i.mutex.Lock()
		defer i.mutex.Unlock()
		i.records[index].Code = response.StatusCode
	}
}

// Process is a process of the operator, which can be killed.
type Process struct {
	injector *Injector
	killed   chan struct{}
	kill     func()
	requests *Gate
	oneWrite atomic.Bool
}

// errKilled is what a killed process gets, which does not matter to anybody.
var errKilled = errors.New("the process was killed")

// Process returns a new process, whose requests the injector sees.
func (i *Injector) Process() *Process {
	killed := make(chan struct{})
	return &Process{injector: i, killed: killed, kill: sync.OnceFunc(func() { close(killed) }), requests: NewGate()}
}

// Kill lets no request of the process through any more but lists and watches: who still reads them does not matter, and a manager of
// controller-runtime cannot be stopped before its caches are read (https://github.com/kubernetes-sigs/controller-runtime/pull/3440).
func (p *Process) Kill() {
	p.kill()
	p.requests.Open()
}

// Pause holds back all requests of the process until Resume.
func (p *Process) Pause() { p.requests.Close() }

// Resume sends the requests that were held back.
func (p *Process) Resume() { p.requests.Open() }

// ResumeForOneWrite sends the requests that were held back, and kills the process as soon as one of its writes is done: it cannot correct
// what it has written. A write that the API server refuses does not count.
func (p *Process) ResumeForOneWrite() {
	p.oneWrite.Store(true)
	p.Resume()
}

// Wrap is a transport wrapper, for rest.Config.Wrap.
func (p *Process) Wrap(next http.RoundTripper) http.RoundTripper {
	send := promhttp.RoundTripperFunc(func(request *http.Request) (*http.Response, error) {
		p.requests.wait(request.Context().Done())
		if p.isKilled() {
			return nil, errKilled
		}
		return next.RoundTrip(request)
	})
	return promhttp.RoundTripperFunc(func(request *http.Request) (*http.Response, error) {
		call, namespace, known := callOf(request)
		if p.isKilled() && call.reads() {
			return next.RoundTrip(request)
		}
		if !known || p.isKilled() {
			return send.RoundTrip(request)
		}
		index, action := p.injector.begin(call, namespace)
		if action == nil {
			action = pass
		}
		response, err := action(request, send)
		if p.oneWrite.Load() && call.Writes() && err == nil && response.StatusCode < http.StatusMultipleChoices {
			p.Kill()
		}
		p.injector.end(index, response)
		return response, err
	})
}

func (p *Process) isKilled() bool {
	select {
	case <-p.killed:
		return true
	default:
		return false
	}
}

// pass changes nothing.
func pass(request *http.Request, send http.RoundTripper) (*http.Response, error) {
	return send.RoundTrip(request)
}
