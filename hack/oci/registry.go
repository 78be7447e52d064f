package oci

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// registryTimeout is how long a registry may take to answer before it counts as unreachable.
const registryTimeout = 15 * time.Second

// CheckPush checks that images can be pushed to the repository: it starts an upload and cancels it. The error says what to
// do. Certificates come from the system and SSL_CERT_FILE, credentials from the configuration of docker and podman.
func CheckPush(ctx context.Context, repository string) error {
	ref, err := name.ParseReference(repository + ":check")
	if err != nil {
		return fmt.Errorf("%q is not an image repository such as registry.example.com/team/name: %w", repository, err)
	}
	done := make(chan error, 1)
	// The library takes no context here. The goroutine ends when the connection times out.
	go func() { done <- remote.CheckPushPermission(ref, authn.DefaultKeychain, remote.DefaultTransport) }()
	select {
	case err := <-done:
		return explain(ref.Context().RegistryStr(), repository, err)
	case <-time.After(registryTimeout):
		return fmt.Errorf("registry %s does not answer within %s: check its address, and that it is running", ref.Context().RegistryStr(), registryTimeout)
	case <-ctx.Done():
		return fmt.Errorf("ask registry %s: %w", ref.Context().RegistryStr(), ctx.Err())
	}
}

func explain(host, repository string, err error) error {
	var refused *transport.Error
	var unknown x509.UnknownAuthorityError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && (refused.StatusCode == http.StatusUnauthorized || refused.StatusCode == http.StatusForbidden):
		return fmt.Errorf("registry %s does not let you push to %s (%d): log in with `docker login %s` or `podman login %s`",
			host, repository, refused.StatusCode, host, host)
	case errors.As(err, &unknown):
		return fmt.Errorf("registry %s has a certificate of an unknown authority: set SSL_CERT_FILE to the authority's certificate (%s)",
			host, oneLine(err))
	}
	return fmt.Errorf("registry %s cannot be reached, so nothing was built: check its address, and that it is running (%s)", host, oneLine(err))
}

// oneLine joins the lines in which the library lists its attempts.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// Push pushes an image to a reference by tag, and returns its reference by digest. It does not send layers that the
// registry already has.
func Push(ctx context.Context, reference string, image v1.Image) (string, error) {
	ref, err := name.NewTag(reference)
	if err != nil {
		return "", fmt.Errorf("%q is not an image reference by tag such as registry.example.com/team/name:tag: %w", reference, err)
	}
	if err := remote.Write(ref, image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return "", fmt.Errorf("push %s: %w", reference, err)
	}
	digest, err := image.Digest()
	if err != nil {
		return "", fmt.Errorf("compute the digest of %s: %w", reference, err)
	}
	return ref.Context().Digest(digest.String()).String(), nil
}
