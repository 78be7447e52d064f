package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode"
)

const (
	// maxStateSize is how many bytes an answer may have. A State has some hundreds.
	maxStateSize = 16 << 10

	// maxHeaderSize is how many bytes the headers of an answer may have. Those of an agent have about a hundred.
	maxHeaderSize = 16 << 10

	// maxProblem is how many bytes of a State's Problem are kept.
	maxProblem = 1 << 10

	// maxNumber is the largest number in a State: sums of some of them do not overflow.
	maxNumber = 1 << 60
)

// The forms of texts in a State. They take 180 kB, and the agent, which imports this package, does not need them.
var forms = sync.OnceValue(func() (f struct{ version, run, fingerprint *regexp.Regexp }) {
	f.version = regexp.MustCompile(`^[0-9][0-9A-Za-z.+_-]{0,63}$`)
	f.run = regexp.MustCompile(`^[0-9a-f/-]{0,128}$`)
	f.fingerprint = regexp.MustCompile(`^[0-9a-f]{64}$`)
	return f
})

var errNoState = errors.New("what the agent answers is not its state: is it of another version?")

// agents is the client for agents. It trusts nobody: a memcached that was taken over can answer in the place of its agent. So it
// follows no redirect, asks no proxy, unpacks nothing, and keeps no connection open.
var agents = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeaderSize},
}

// Fetch gets the State from the agent at address, host:port. The error says that the agent does not answer, or why the agent
// gets no answer from memcached. ctx limits how long it takes. The State has the form of one, and may still be a lie: use it for
// nothing but the cache that the agent belongs to.
func Fetch(ctx context.Context, address string) (*State, error) { return fetch(ctx, agents, address) }

func fetch(ctx context.Context, client *http.Client, address string) (*State, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+StatePath, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask the agent: %w", err)
	}
	response, err := client.Do(request)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		response, err = client.Do(request) // An agent with too many connections closes some, perhaps this one.
	}
	if err != nil {
		return nil, fmt.Errorf("ask the agent: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxStateSize+1))
	if err != nil {
		return nil, fmt.Errorf("read what the agent answers: %w", err)
	}
	switch {
	case len(body) > maxStateSize || response.Header.Get("Content-Encoding") != "":
		return nil, errNoState
	case response.StatusCode == http.StatusServiceUnavailable:
		return nil, fmt.Errorf("memcached does not answer its agent: %s", printable(string(body)))
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the agent answers %d: is it of another version?", response.StatusCode)
	}
	var s State
	if json.Unmarshal(body, &s) != nil || !s.plausible() {
		return nil, errNoState
	}
	s.Problem = printable(s.Problem)
	return &s, nil
}

// plausible reports whether an agent could report a State. Problem can be any text.
func (s *State) plausible() bool {
	numbers := []int64{s.Process, s.Before, s.Restored, s.Items, s.Hits, s.Misses, s.Evictions, s.CacheMemory, s.HashBytes}
	return forms().version.MatchString(s.Version) && forms().run.MatchString(s.Run) &&
		slices.Min(numbers) >= 0 && slices.Max(numbers) <= maxNumber &&
		(s.HitRatio == nil || *s.HitRatio >= 0 && *s.HitRatio <= 1) &&
		(s.Certificate == nil || forms().fingerprint.MatchString(s.Certificate.Fingerprint))
}

// printable returns the beginning of a text in one line, without control characters.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.TrimSpace(text))
	return strings.ToValidUTF8(text[:min(len(text), maxProblem)], "")
}
