package agent

import (
	"net/http"
	"strings"
	"testing"

	"github.com/example/memcached-operator/operator/agent/api"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/internal/testkit"
)

// Everybody can read what port 9150 answers, and many can read logs and conditions.
func TestUsersAndPasswordsStayInThePod(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		// memcached reads a file of its own, so it never gets what the agent's file has later.
		volume := agenttesting.NewVolume(t, map[string]string{"memcached": "alice:wonder\nbob:builder\n", "users": "alice:wonder\nbob:builder\n"})
		server := run.Start(t, "-Y", volume.File("memcached"))
		log := testkit.NewLog(t)
		url, stop := startTo(t, log, "--memcached", server.Address, "--process", server.Name, "--users-file", volume.File("users"))
		answers(t, url+"/readyz", http.StatusOK, "ok")
		var pages strings.Builder
		for users, says := range map[string]string{
			"alice:wonder\nbob:builder\ncarol:vorderman\n": "rejects the user or the password of line 3",
			"alice:wonder\n": "still lets in a user who was removed",
			"alice wonder\n": "has no colon",
		} {
			volume.Replace(t, map[string]string{"memcached": "alice:wonder\nbob:builder\n", "users": users})
			s := awaitState(t, url, says, func(s api.State) bool { return strings.Contains(s.Problem, says) })
			pages.WriteString(s.Problem)
		}
		stop()

		volume.Replace(t, map[string]string{"memcached": "", "users": "dave:lister\n"})
		url, stop = startTo(t, log, "--memcached", server.Address, "--process", server.Name, "--users-file", volume.File("users"))
		answers(t, url+"/readyz", http.StatusServiceUnavailable, "rejects the user or the password")
		for _, path := range []string{"/readyz", "/livez", "/state", "/metrics"} {
			_, page, err := get(url + path)
			if err != nil {
				t.Fatal(err)
			}
			pages.WriteString(page)
		}
		stop()
		for _, secret := range []string{"alice", "wonder", "bob", "builder", "carol", "vorderman", "dave", "lister"} {
			if strings.Contains(pages.String(), secret) {
				t.Errorf("%s is shown:\n%s", secret, &pages)
			}
			if strings.Contains(log.String(), secret) {
				t.Errorf("%s is logged", secret)
			}
		}
	})
}
