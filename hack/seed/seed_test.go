package seed_test

import (
	"testing"

	"github.com/example/memcached-operator/hack/seed"
)

func TestEachRunHasAnotherSeed(t *testing.T) {
	t.Setenv("SEED", "")
	seen := map[uint64]bool{}
	for range 5 {
		seen[seed.New(t)] = true
	}
	if len(seen) == 1 {
		t.Errorf("five seeds are all %v", seen)
	}
}

func TestASeedCanBeGiven(t *testing.T) {
	t.Setenv("SEED", "4294967299")
	if got := seed.New(t); got != 4294967299 {
		t.Errorf("the seed is %d", got)
	}
}
