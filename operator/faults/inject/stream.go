package inject

import (
	"io"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Gate lets answers through while it is open.
type Gate struct {
	mutex  sync.Mutex
	opened chan struct{}
	broken chan struct{}
	bodies []io.Closer

	// held is how often events were held back.
	held int

	// expires is how many of the next streams have expired.
	expires int
}

// NewGate returns an open gate.
func NewGate() *Gate {
	opened, broken := make(chan struct{}), make(chan struct{})
	close(opened)
	return &Gate{opened: opened, broken: broken}
}

// Close holds everything back from now on.
func (g *Gate) Close() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if isClosed(g.opened) {
		g.opened = make(chan struct{})
	}
}

// Open lets through what was held back, and what comes.
func (g *Gate) Open() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if !isClosed(g.opened) {
		close(g.opened)
	}
}

// Held returns how often events were held back so far.
func (g *Gate) Held() int {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.held
}

// noteEvents counts events that have come to a gate that is closed.
func (g *Gate) noteEvents() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if !isClosed(g.opened) {
		g.held++
	}
}

// Break ends all streams without what was held back. Streams that begin later are not concerned.
func (g *Gate) Break() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if isClosed(g.broken) {
		return
	}
	close(g.broken)
	for _, body := range g.bodies {
		_ = body.Close() // So that nobody waits for another event.
	}
}

// Expire ends all streams without what was held back, as Break does, and the next streams of their clients fail because their start is too long
// ago. So the clients list what there is, and never see what was in between.
func (g *Gate) Expire() {
	g.mutex.Lock()
	g.expires = len(g.bodies)
	g.mutex.Unlock()
	g.Break()
}

// hasExpired tells whether a stream that begins has expired.
func (g *Gate) hasExpired() bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if !isClosed(g.broken) || g.expires == 0 {
		return false
	}
	g.expires--
	return true
}

func isClosed(channel chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}

// wait waits until the gate is open or the stream ends. It returns false if the gate is broken.
func (g *Gate) wait(ended <-chan struct{}) bool {
	g.mutex.Lock()
	opened := g.opened
	g.mutex.Unlock()
	if isClosed(g.broken) {
		return false
	}
	select {
	case <-opened:
		return !isClosed(g.broken)
	case <-g.broken:
		return false
	case <-ended:
		return true
	}
}

// Stream lets the events of a watch through the gate.
func (g *Gate) Stream(request *http.Request, send http.RoundTripper) (*http.Response, error) {
	if g.hasExpired() {
		return answer(request, apierrors.NewResourceExpired("too old resource version"))
	}
	response, err := send.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if !isClosed(g.broken) {
		g.bodies = append(g.bodies, response.Body)
		response.Body = &stream{ReadCloser: response.Body, gate: g, ended: request.Context().Done()}
	}
	return response, nil
}

// stream is the body of an answer.
type stream struct {
	io.ReadCloser
	gate  *Gate
	ended <-chan struct{}
}

// Read returns what was read as soon as the gate is open.
func (s *stream) Read(buffer []byte) (int, error) {
	if isClosed(s.gate.broken) {
		return 0, io.EOF
	}
	n, err := s.ReadCloser.Read(buffer)
	if n > 0 {
		s.gate.noteEvents()
	}
	if !s.gate.wait(s.ended) {
		return 0, io.EOF // As if the API server had ended it.
	}
	return n, err
}
