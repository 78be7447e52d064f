package oci_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	memory "github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/example/memcached-operator/hack/oci"
)

func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestAnImageIsThereAfterAPush(t *testing.T) {
	host := serve(t, memory.New(memory.Logger(log.New(io.Discard, "", 0))))
	if err := oci.CheckPush(t.Context(), host+"/team/name"); err != nil {
		t.Fatal(err)
	}
	image, err := random.Image(100, 1)
	if err != nil {
		t.Fatal(err)
	}
	reference, err := oci.Push(t.Context(), host+"/team/name:v1", image)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if want := host + "/team/name@" + digest.String(); reference != want {
		t.Errorf("got %s, want %s", reference, want)
	}
	parsed, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Get(parsed); err != nil {
		t.Errorf("it cannot be pulled by digest: %v", err)
	}
}

func TestWhatIsWrongIsSaidInOneLine(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	refusing := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			return
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	// Its certificate is signed by nobody that this machine trusts.
	strange := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(strange.Close)
	strange.Config.ErrorLog = log.New(io.Discard, "", 0)

	for want, repository := range map[string]string{
		"cannot be reached":          strings.TrimPrefix(closed.URL, "http://") + "/x/y",
		"log in with `docker login":  refusing + "/x/y",
		"SSL_CERT_FILE":              strings.TrimPrefix(strange.URL, "https://") + "/x/y",
		"is not an image repository": "Not A Repository",
	} {
		err := oci.CheckPush(t.Context(), repository)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", repository, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the message has more than one line", repository)
		}
	}
}
