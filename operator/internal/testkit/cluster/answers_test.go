package cluster

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func TestCreateTriesAgainWhatWasNotAnswered(t *testing.T) {
	for name, carriedOut := range map[string]bool{"and was carried out": true, "and was not carried out": false} {
		t.Run(name, func(t *testing.T) {
			late := lateClient(t, http.MethodPost, carriedOut)
			object := configMap(Namespace(t))
			if err := late.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			stored := &corev1.ConfigMap{}
			if err := Client.Get(t.Context(), client.ObjectKeyFromObject(object), stored); err != nil {
				t.Fatal(err)
			}
			if object.UID == "" || object.UID != stored.UID || stored.Data["sent"] != "yes" {
				t.Errorf("the test has %v with the data %v; the API server has %v", object.UID, stored.Data, stored.UID)
			}
		})
	}
}

func TestCreateDoesNotTakeAnotherObjectForItsOwn(t *testing.T) {
	for name, other := range map[string]func(*corev1.ConfigMap){
		"of somebody else":    func(c *corev1.ConfigMap) { c.Labels = map[string]string{"by": "another"} },
		"about to be deleted": func(c *corev1.ConfigMap) { c.Finalizers = []string{"example.com/wait"} },
	} {
		t.Run(name, func(t *testing.T) {
			namespace := Namespace(t)
			existing := configMap(namespace)
			other(existing)
			if err := Client.Create(t.Context(), existing); err != nil {
				t.Fatal(err)
			}
			if len(existing.Finalizers) > 0 {
				if err := Client.Delete(t.Context(), existing); err != nil {
					t.Fatal(err)
				}
			}
			if err := lateClient(t, http.MethodPost, false).Create(t.Context(), configMap(namespace)); !apierrors.IsAlreadyExists(err) {
				t.Errorf("got %v, want AlreadyExists", err)
			}
		})
	}
}

func TestCreateSaysAtOnceThatAnObjectExists(t *testing.T) {
	namespace := Namespace(t)
	if err := Client.Create(t.Context(), configMap(namespace)); err != nil {
		t.Fatal(err)
	}
	if err := Client.Create(t.Context(), configMap(namespace)); !apierrors.IsAlreadyExists(err) {
		t.Errorf("got %v, want AlreadyExists", err)
	}
}

func TestPatchAndDeleteTryAgainWhatWasNotAnswered(t *testing.T) {
	for name, carriedOut := range map[string]bool{"and was carried out": true, "and was not carried out": false} {
		t.Run(name, func(t *testing.T) {
			object := configMap(Namespace(t))
			if err := Client.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			patch := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"sent":"again"}}`))
			if err := lateClient(t, http.MethodPatch, carriedOut).Patch(t.Context(), object, patch); err != nil || object.Data["sent"] != "again" {
				t.Errorf("patch: %v; the data are %v", err, object.Data)
			}
			if err := lateClient(t, http.MethodDelete, carriedOut).Delete(t.Context(), object); err != nil {
				t.Errorf("delete: %v", err)
			}
			if err := Client.Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
				t.Errorf("after the delete, get returns %v", err)
			}
		})
	}
}

// configMap returns the object that a test creates.
func configMap(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "late", Labels: map[string]string{"by": "test"}},
		Data:       map[string]string{"sent": "yes"},
	}
}

// lateClient returns a client whose first request of a method is not answered in time, and is carried out or not.
func lateClient(t *testing.T, method string, carriedOut bool) client.Client {
	t.Helper()
	var happened atomic.Bool
	config := rest.CopyConfig(Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return promhttp.RoundTripperFunc(func(request *http.Request) (*http.Response, error) {
			if request.Method != method || happened.Swap(true) {
				return next.RoundTrip(request)
			}
			if carriedOut {
				response, err := next.RoundTrip(request)
				if err = errors.Join(err, response.Body.Close()); err != nil {
					return nil, err
				}
			}
			answer := httptest.NewRecorder()
			answer.WriteHeader(http.StatusGatewayTimeout)
			return answer.Result(), nil
		})
	})
	late, err := newClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !happened.Load() {
			t.Errorf("no %s was late", method)
		}
	})
	return late
}
