package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// longestAnswer is how many bytes of an answer are read. A State has some hundreds.
const longestAnswer = 64 << 10

// Fetch asks the agent that listens at address, host:port. The error says that the agent does not answer, or what the agent
// says why memcached does not. ctx and the client's timeout limit how long it takes.
func Fetch(ctx context.Context, client *http.Client, address string) (*State, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+Path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask the agent: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the agent: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer))
	if err != nil {
		return nil, fmt.Errorf("read what the agent answers: %w", err)
	}
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusServiceUnavailable:
		return nil, fmt.Errorf("memcached does not answer its agent: %s", strings.TrimSpace(string(body)))
	default:
		return nil, fmt.Errorf("the agent answers %q: is it of another version?", response.Status)
	}
	var s State
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, errors.New("what the agent answers is not its state: is it of another version?")
	}
	return &s, nil
}
