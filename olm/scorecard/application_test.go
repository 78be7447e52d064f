package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func application() unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "app.example.com/v1alpha1", "kind": "Application",
		"metadata": map[string]any{"name": "application-sample", "namespace": "n"}, "spec": map[string]any{"replicas": int64(2)},
	}}
}

// page is the application's, which answers requests with one status code after the other, the last one for ever.
type page struct {
	answers []int
	visits  int
}

func (p *page) get(_ context.Context, url string) (int, error) {
	if url != "http://application-sample.n.svc:8080/" {
		return 0, errors.New("no such host")
	}
	p.visits++
	return p.answers[min(p.visits, len(p.answers))-1], nil
}

func takeWithApplication(t *testing.T, o *operator, p *page) (map[string]v1alpha3.TestResult, []string) {
	t.Helper()
	return told(newApplicationTest(o.cluster(t), application(), p.get).run(t.Context()))
}

func TestAnApplicationThatAnswersPassesEveryStep(t *testing.T) {
	slow := &page{answers: []int{http.StatusServiceUnavailable, http.StatusOK}}
	_, order := takeWithApplication(t, &operator{}, slow)
	want := []string{
		"create the example: pass", "wait until it is ready: pass", "ask for a page through its Service: pass",
		"scale it up: pass", "ask for the page again: pass", "delete it: pass",
	}
	if !slices.Equal(order, want) {
		t.Errorf("got  %v\nwant %v", order, want)
	}
	if slow.visits != 3 {
		t.Errorf("it was asked %d times, want until it has answered well, and once after scaling", slow.visits)
	}
}

func TestAStatusThatMiscountsItsPodsFails(t *testing.T) {
	results, _ := takeWithApplication(t, &operator{miscount: true}, &page{})
	if failed := results["wait until it is ready"]; failed.State != v1alpha3.FailState || !strings.Contains(failed.Errors[0], "readyReplicas is 3, but 2 pods") {
		t.Errorf("got %+v", failed)
	}
}

func TestWhatIsLeftBehindIsNamed(t *testing.T) {
	example := application()
	w := newApplicationTest((&operator{}).cluster(t, service(&example)), example, nil)
	if err := w.left(t.Context()); err == nil || !strings.Contains(err.Error(), "Service is still there") {
		t.Errorf("got %v", err)
	}
}

func TestGetAsksOnANewConnectionEachTime(t *testing.T) {
	from := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from[r.RemoteAddr] = true
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()
	for range 3 {
		if status, err := get(t.Context(), server.URL); err != nil || status != http.StatusTeapot {
			t.Errorf("got %d, %v", status, err)
		}
	}
	if len(from) != 3 {
		t.Errorf("3 requests came on %d connections", len(from))
	}
	server.Close()
	if _, err := get(t.Context(), server.URL); err == nil {
		t.Error("a server that is gone answered")
	}
}
