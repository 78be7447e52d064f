package apply_test

import (
	"testing"
	"time"
)

// What happens to a cache before its Secret is read again does not put off the reading.
func TestASecretIsReadAgainInTimeWhateverHappensMeanwhile(t *testing.T) {
	owner, applier := newOwner(t), live()
	last := time.Minute
	for pass := range 3 {
		result, err := applier.Apply(t.Context(), owner, plan(owner))
		if err != nil || result.Recheck <= 0 || pass > 0 && result.Recheck >= last {
			t.Fatalf("pass %d: read again in %s, before in %s (%v)", pass, result.Recheck, last, err)
		}
		last = result.Recheck
	}
}
