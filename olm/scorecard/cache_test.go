package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (o *operator) dial(address string) server { return &memory{o, address} }

// memory is a memcached server that keeps items in a map.
type memory struct {
	operator *operator
	address  string
}

func (m *memory) Set(item *memcache.Item) error {
	if !m.operator.forget {
		m.operator.items[m.address] = map[string]string{item.Key: string(item.Value)}
	}
	return nil
}

func (m *memory) Get(key string) (*memcache.Item, error) {
	value, ok := m.operator.items[m.address][key]
	if !ok {
		return nil, memcache.ErrCacheMiss
	}
	return &memcache.Item{Key: key, Value: []byte(value)}, nil
}

func (m *memory) Close() error { return nil }

func takeWithCache(t *testing.T, o *operator, existing ...client.Object) (map[string]v1alpha3.TestResult, []string) {
	t.Helper()
	o.items = map[string]map[string]string{}
	return told(newCacheTest(o.cluster(t, existing...), cache(), o.dial).run(t.Context()))
}

func cache() unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached",
		"metadata": map[string]any{"name": "memcached-sample", "namespace": "n"}, "spec": map[string]any{"size": int64(2)},
	}}
}

func TestAWorkingOperatorPassesEveryStep(t *testing.T) {
	_, order := takeWithCache(t, &operator{})
	want := []string{
		"create the example: pass", "wait until it is ready: pass", "store and read a key on every server: pass",
		"scale it up: pass", "read the keys again: pass", "delete it: pass",
	}
	if !slices.Equal(order, want) {
		t.Errorf("got  %v\nwant %v", order, want)
	}
}

func TestNoStepFollowsAFailedOneAndTheCacheIsDeleted(t *testing.T) {
	results, order := takeWithCache(t, &operator{forget: true})
	failed := results["store and read a key on every server"]
	if failed.State != v1alpha3.FailState || len(failed.Errors) != 1 || !strings.Contains(failed.Errors[0], "cache miss") || len(failed.Suggestions) != 1 {
		t.Errorf("got %+v", failed)
	}
	if last := order[len(order)-1]; last != "delete it: pass" || len(order) != 4 {
		t.Errorf("the steps were %v", order)
	}
}

func TestReplacedPodsAreNotToleratedWhenScalingUp(t *testing.T) {
	results, _ := takeWithCache(t, &operator{replace: true})
	if failed := results["scale it up"]; failed.State != v1alpha3.FailState || !strings.Contains(failed.Errors[0], "was replaced by scaling up") {
		t.Errorf("got %+v", failed)
	}
}

func TestSomebodyElsesCacheIsNotTouched(t *testing.T) {
	theirs := cache()
	results, order := takeWithCache(t, &operator{}, &theirs)
	failed := results["create the example"]
	if len(order) != 1 || failed.State != v1alpha3.FailState || !strings.Contains(failed.Suggestions[0], "namespace of its own") {
		t.Errorf("got %v, %+v", order, failed)
	}
}
