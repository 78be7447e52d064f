//go:build faults

package faults_test

import (
	"errors"
	"flag"
	"sync/atomic"
	"testing"
)

// errEnough is the error of plans that end early.
var errEnough = errors.New("another plan has failed, which is enough with -test.failfast")

// hasFailed is true once a plan has failed that is enough.
var hasFailed atomic.Bool

// noteFailure lets all other plans end after one that has failed, if -test.failfast is given: that alone ends no test that runs in parallel.
func noteFailure(t *testing.T) {
	if t.Failed() && flag.Lookup("test.failfast").Value.String() == "true" {
		hasFailed.Store(true)
	}
}
