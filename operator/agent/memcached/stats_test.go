package memcached_test

import (
	"strings"
	"testing"

	"github.com/example/memcached-operator/operator/agent/memcached"
)

func TestTheFirstMissingStatisticIsNamed(t *testing.T) {
	var values [5]int64
	names := map[string]*int64{"pid": &values[0], "evictions": &values[1], "get_hits": &values[2], "time": &values[3], "uptime": &values[4]}
	for range 20 {
		err := memcached.Stats{"uptime": "1"}.Ints(names)
		if err == nil || !strings.Contains(err.Error(), "evictions") {
			t.Fatalf("the error is %v, want one about the first name in alphabetical order", err)
		}
	}
}
