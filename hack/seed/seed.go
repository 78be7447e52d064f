// Package seed gives property tests other random values in each run, and the same ones again.
package seed

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// variable is the environment variable with the seed to use.
const variable = "SEED"

// New returns a seed, another one in each run, and logs it. SEED=1 in the environment makes it 1.
func New(t *testing.T) uint64 {
	t.Helper()
	chosen := uint64(rand.Uint32())
	if given := os.Getenv(variable); given != "" {
		var err error
		if chosen, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatalf("%s: %v", variable, err)
		}
	}
	t.Logf("random values of %s=%d, with which they are the same again", variable, chosen)
	return chosen
}
