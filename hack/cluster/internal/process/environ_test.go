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
	spec := shell("one", "env; echo end; "+forever)
	spec.Env = []string{"ADDED=1"}
	if _, err := s.Ensure(spec); err != nil {
		t.Fatal(err)
	}
	log := ""
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(log, "\nend\n"); <-time.After(10 * time.Millisecond) {
		content, err := os.ReadFile(s.LogFile("one"))
		if log = string(content); err != nil || time.Now().After(deadline) {
			t.Fatalf("the program does not print its environment: %v\n%s", err, log)
		}
	}
	for variable, want := range map[string]bool{"GOGC=150": true, "HOME=" + s.Run: true, "ADDED=1": true, "KUBECONFIG=": false} {
		if strings.Contains("\n"+log, "\n"+variable) != want {
			t.Errorf("%s in the environment, want %t:\n%s", variable, want, log)
		}
	}
}
