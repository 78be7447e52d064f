package agent

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

// A container that ends is started again minutes later, and memcached has no metrics meanwhile.
func TestAnAgentThatStartsWithUnsoundFilesGoesOnWhenTheyAreMended(t *testing.T) {
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
				log := &lines{}
				url, _ := startTo(t, log, "--memcached", server.Address, "--process", server.Name, "--users-file", volume.File("users"),
					"--tls-ca", volume.File("ca.crt"), "--tls-server-name", agenttesting.ServerName,
					"--tls-certificate", volume.File("tls.crt"), "--tls-key", volume.File("tls.key"))
				answers(t, url+"/readyz", http.StatusServiceUnavailable, test.says)
				answers(t, url+"/state", http.StatusServiceUnavailable, test.says)
				answers(t, url+"/healthz", http.StatusOK, "ok")
				answers(t, url+"/livez", http.StatusOK, "ok")
				answers(t, url+"/metrics", http.StatusOK, "memcached_up 0\n",
					"memcached_agent_reload_pending{what=\"certificates\"} 1\n", "memcached_agent_reload_pending{what=\"users\"} 1\n")
				anotherSecond(t) // In which it has looked ten times.
				if n := strings.Count(log.String(), "before its files are put right"); n != 1 {
					t.Errorf("the reason is logged %d times:\n%s", n, log)
				}
				if strings.Contains(log.String(), "secret") {
					t.Errorf("the log holds a password: %s", log)
				}

				volume.Replace(t, sound)
				answers(t, url+"/readyz", http.StatusOK, "ok")
				answers(t, url+"/metrics", http.StatusOK, "memcached_up 1\n", "memcached_agent_starts_total{kind=\"cold\"} 1\n",
					"memcached_agent_reload_pending{what=\"certificates\"} 0\n", "memcached_agent_reload_pending{what=\"users\"} 0\n")
				server.Stop(syscall.SIGTERM)
				answers(t, url+"/livez", http.StatusServiceUnavailable, "connect to memcached")
			})
		})
	}
}

// with returns files with others in their place; "-" stands for none.
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

// lines is a log that is read while it is written.
type lines struct {
	mutex sync.Mutex
	all   bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.all.Write(line)
}

func (l *lines) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.all.String()
}
