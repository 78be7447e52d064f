package agent

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/internal/testkit"
)

// A container that ends can be restarted minutes later, and memcached would have no metrics meanwhile.
func TestAnAgentThatStartsWithInvalidFilesRecovers(t *testing.T) {
	for name, test := range map[string]struct {
		broken map[string]string
		says   string
	}{
		"no pair":                {map[string]string{"tls.key": agenttesting.NewAuthority(t).Issue(t, time.Now().Add(time.Hour))["tls.key"]}, "are no pair"},
		"no CA":                  {map[string]string{"ca.crt": ""}, "ca.crt is empty"},
		"nine users":             {map[string]string{"users": strings.Repeat("user:secret\n", 9)}, "names 9, but memcached takes at most 8"},
		"a user without a colon": {map[string]string{"users": "secret\n"}, "has no colon"},
		"no users":               {map[string]string{"users": "-"}, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
				sound := agenttesting.NewAuthority(t).Issue(t, time.Now().Add(time.Hour))
				sound["users"] = "user:secret\n"
				volume := agenttesting.NewVolume(t, sound)
				server := run.Start(t, append(volume.TLS(), "-Y", volume.File("users"))...)
				volume.Replace(t, with(sound, test.broken))
				log := testkit.NewLog(t)
				url, _ := startTo(t, log, "--memcached", server.Address, "--process", server.Name, "--users-file", volume.File("users"),
					"--tls-ca", volume.File("ca.crt"), "--tls-server-name", agenttesting.ServerName,
					"--tls-certificate", volume.File("tls.crt"), "--tls-key", volume.File("tls.key"))
				answers(t, url+"/readyz", http.StatusServiceUnavailable, test.says)
				answers(t, url+"/state", http.StatusServiceUnavailable, test.says)
				answers(t, url+"/healthz", http.StatusOK, "ok")
				answers(t, url+"/livez", http.StatusOK, "ok")
				answers(t, url+"/metrics", http.StatusOK, "memcached_up 0\n",
					"memcached_agent_reload_pending{what=\"certificates\"} 1\n", "memcached_agent_reload_pending{what=\"users\"} 1\n")

				volume.Replace(t, sound)
				answers(t, url+"/readyz", http.StatusOK, "ok")
				answers(t, url+"/metrics", http.StatusOK, "memcached_up 1\n", "memcached_agent_starts_total{kind=\"cold\"} 1\n",
					"memcached_agent_reload_pending{what=\"certificates\"} 0\n", "memcached_agent_reload_pending{what=\"users\"} 0\n")
				server.Stop(syscall.SIGTERM)
				answers(t, url+"/livez", http.StatusServiceUnavailable, "connect to memcached")
				if n := log.Count("before its files are put right"); n != 1 {
					t.Errorf("the reason is logged %d times:\n%s", n, log)
				}
				if log.Count("secret") > 0 {
					t.Errorf("the log holds a password: %s", log)
				}
			})
		})
	}
}

// with returns files of which others replace some; "-" stands for no file.
func with(files, others map[string]string) map[string]string {
	all := map[string]string{}
	for name, content := range files {
		if other, ok := others[name]; ok {
			content = other
		}
		if content != "-" {
			all[name] = content
		}
	}
	return all
}

// The test has a clock of its own.
func TestAReasonIsLoggedOnce(t *testing.T) {
	users := filepath.Join(t.TempDir(), "users")
	log := testkit.NewLog(t)
	synctest.Test(t, func(t *testing.T) {
		a := &agent{
			options: options{users: users, reloadInterval: time.Second}, logger: slog.New(slog.NewTextHandler(log, nil)),
			dialer: memcached.NewDialer("127.0.0.1:11211", &api.Certificates{}, &api.Users{}),
		}
		agenttesting.Background(t, func(ctx context.Context) { a.awaitFiles(ctx) })
		for content, says := range map[string]string{"secret\n": "has no colon", ":secret\n": "lacks the user"} {
			if err := os.WriteFile(users, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			<-time.After(10 * a.options.reloadInterval)
			synctest.Wait()
			if n := log.Count("before its files are put right", says); n != 1 {
				t.Errorf("that a user %s is logged %d times", says, n)
			}
		}
	})
}
