package main

import (
	"errors"
	"time"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// advice is an error with a suggestion of what its reader can do about it.
type advice struct {
	error
	suggestion string
}

// outcome is the result of one step with an object of a kind.
func outcome(kind, step, log string, err error) v1alpha3.TestResult {
	result := v1alpha3.TestResult{
		Name: "user-walk: " + kind + ": " + step, State: v1alpha3.PassState, Log: log, CreationTimestamp: metav1.NewTime(time.Now()),
	}
	if err == nil {
		return result
	}
	result.State = v1alpha3.FailState
	result.Errors = []string{err.Error()}
	var a advice
	if errors.As(err, &a) {
		result.Suggestions = []string{a.suggestion}
	}
	return result
}

// broken is the result of a test that could not begin.
func broken(step string, err error) v1alpha3.TestResult {
	result := outcome("begin", step, "", err)
	result.State = v1alpha3.ErrorState
	return result
}
