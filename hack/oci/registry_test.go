package oci_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/example/memcached-operator/hack/internal/testkit"
	"github.com/example/memcached-operator/hack/oci"
)

func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestPushedImageCanBePulled(t *testing.T) {
	host := testkit.Registry(t)
	if err := oci.CheckPush(t.Context(), host+"/team/name"); err != nil {
		t.Fatal(err)
	}
	image := testkit.Must(random.Image(100, 1))(t)
	reference := testkit.Must(oci.Push(t.Context(), host+"/team/name:v1", image))(t)
	digest := testkit.Must(image.Digest())(t)
	if want := host + "/team/name@" + digest.String(); reference != want {
		t.Errorf("got %s, want %s", reference, want)
	}
	parsed := testkit.Must(name.ParseReference(reference))(t)
	if _, err := remote.Get(parsed); err != nil {
		t.Errorf("it cannot be pulled by digest: %v", err)
	}
}

func TestCheckPushExplainsErrorsInOneLine(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	refusing := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			return
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	// This machine does not trust its certificate.
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
