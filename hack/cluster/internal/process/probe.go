// Package probe asks a component on this machine over HTTP whether it is healthy.
package process

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
)

// client does not check certificates: the controller manager and the scheduler make up their own when they start,
// and only loopback addresses are asked. No proxy of the environment is used.
var client = &http.Client{Transport: &http.Transport{
	TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
	DisableKeepAlives: true,
}}

// HTTPReady returns a check that is nil when url answers 200.
func HTTPReady(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("ask %s: %w", url, err)
		}
		response, err := client.Do(request)
		if err != nil {
			return err // it names the URL
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, response.Status)
		}
		return nil
	}
}
