package process

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestAProcessHasOnlyTheEnvironmentItNeeds(t *testing.T) {
	t.Setenv("GOGC", "150")
	t.Setenv("KUBECONFIG", "/of/another/cluster")
	s := supervisor(t)
	environ := environOf(t, s)
	for variable, want := range map[string]bool{"GOGC=150": true, "HOME=" + s.Run: true, "ADDED=1": true, "KUBECONFIG=": false} {
		if strings.Contains("\n"+environ, "\n"+variable) != want {
			t.Errorf("%s in the environment, want %t:\n%s", variable, want, environ)
		}
	}
}

func TestAProcessHasNoGOGCThatTheCallerLacks(t *testing.T) {
	t.Setenv("GOGC", "") // The variable is restored when the test ends.
	os.Unsetenv("GOGC")
	if environ := environOf(t, supervisor(t)); strings.Contains("\n"+environ, "\nGOGC") {
		t.Errorf("the process has a GOGC that the caller lacks:\n%s", environ)
	}
}

// environOf starts a program that prints its environment, and returns the lines: NAME=value, then "end".
func environOf(t *testing.T, s *Supervisor) string {
	t.Helper()
	spec := shell("one", "env; echo end; "+forever)
	spec.Env = []string{"ADDED=1"}
	if _, err := s.Ensure(spec); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; <-time.After(10 * time.Millisecond) {
		content, err := os.ReadFile(s.LogFile("one"))
		if strings.Contains(string(content), "\nend\n") {
			return string(content)
		}
		if time.Now().After(deadline) {
			t.Fatalf("the program does not print its environment: %v\n%s", err, content)
		}
	}
}
