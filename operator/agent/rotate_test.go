package agent

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
)

// memcached does not tell when it reads new users: whenever that is, the next scrape is let in.
func TestNoScrapeFailsWhileUsersAreReplaced(t *testing.T) {
	agenttesting.Each(t, func(t *testing.T, run agenttesting.Runner) {
		volume := agenttesting.NewVolume(t, map[string]string{"users": "user:0\n"})
		volume.Age(t, time.Hour)
		server := run.Start(t, "-Y", volume.File("users"))
		url, _ := start(t, "--memcached", server.Address, "--process", server.Name, "--directory", t.TempDir(), "--users-file", volume.File("users"))
		answers(t, url+"/metrics", 200, "\nmemcached_up 1\n", `memcached_agent_reload_pending{what="users"} 0`)
		ctx, cancel := context.WithCancel(t.Context())
		var scraping sync.WaitGroup
		scrapes, failed := 0, 0
		scraping.Go(func() {
			for ; ctx.Err() == nil; scrapes++ {
				if _, page, err := get(url + "/metrics"); err != nil || !strings.Contains(page, "\nmemcached_up 1\n") {
					failed++
				}
			}
		})
		for i := 1; i <= 3; i++ {
			volume.Replace(t, map[string]string{"users": fmt.Sprintf("user:%d\n", i)})
			answers(t, url+"/metrics", 200, fmt.Sprintf(`memcached_agent_reloads_total{outcome="success",what="users"} %d`, i))
		}
		cancel()
		scraping.Wait()
		if scrapes == 0 || failed > 0 {
			t.Errorf("%d of %d scrapes were refused", failed, scrapes)
		}
	})
}
