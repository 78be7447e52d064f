package agent

import (
	"context"
	"sync"
	"time"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/agent/memcached"
)

// tend looks after memcached until ctx ends, once the files say how to reach it.
func (a *agent) tend(ctx context.Context) {
	if !a.awaitFiles(ctx) {
		return
	}
	var parts sync.WaitGroup
	defer parts.Wait()
	parts.Go(func() { a.reloads.Run(ctx) })
	if a.memory.File != "" {
		parts.Go(func() { a.memory.Run(ctx) })
	}
	a.observe(ctx)
}

// awaitFiles waits until the files of certificates and users can be read, and says whether that came before ctx ended.
func (a *agent) awaitFiles(ctx context.Context) bool {
	ticker := time.NewTicker(a.options.reloadInterval)
	defer ticker.Stop()
	problem := ""
	for err := a.read(); err != nil; err = a.read() {
		if memcached.Brief(err) != problem {
			problem = memcached.Brief(err)
			a.logger.Error("The agent has no way to memcached before its files are put right: trying again",
				"error", err, "every", a.options.reloadInterval)
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
	return true
}

// read makes the dialer go to memcached with what is on disk, or fail for the reason that this cannot be read.
func (a *agent) read() error {
	certificates, err := a.options.certificates.Read()
	if err != nil {
		a.dialer.Hold(err)
		return err
	}
	users, err := api.ReadUsers(a.options.users)
	if err != nil {
		a.dialer.Hold(err)
		return err
	}
	a.dialer.UseCertificates(certificates)
	a.dialer.UseUsers(users)
	a.dialer.Hold(nil)
	return nil
}
