package process

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
)

// client does not verify certificates: the controller manager and the scheduler sign their own at every start, and
// only loopback addresses are probed. It sends no credentials, and uses no proxy of the environment.
var client = &http.Client{Transport: &http.Transport{
	TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
	DisableKeepAlives: true,
}}

// HTTPReady returns a check that is nil when url answers 200.
func HTTPReady(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("probe %s: %w", url, err)
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
