package scenario

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/example/memcached-operator/hack/bench/apiserver"
	"github.com/example/memcached-operator/hack/bench/child"
	"github.com/example/memcached-operator/hack/bench/workload"
)

const (
	// warmNumber is the number of the first custom resource that a process is warmed up with.
	warmNumber = 900000

	// warm is how many custom resources a process handles before it is measured: it makes connections and asks for what the API server can do.
	warm = 5

	// quiet is for how long an operator has to write nothing until it counts as done. It is longer than a status may wait.
	quiet = 12 * time.Second
)

// Round is what one client needed for all custom resources of a round.
type Round struct {
	// Count is how many custom resources there were.
	Count int

	// Duration is the time from the first request to the last custom resource that was ready.
	Duration time.Duration

	// Latencies are how long each custom resource took to become ready, in order.
	Latencies []time.Duration

	// Usage is that of the operator or of the bare client, and Server that of the API server and of etcd, until all were ready.
	Usage  child.Usage
	Server apiserver.CPU

	// Settled is Usage until nothing was written any more.
	Settled child.Usage
}

// measured runs do, and measures it.
func (b *Bench) measured(client *child.Child, do func() error) (round Round, err error) {
	before, err := client.Usage()
	if err != nil {
		return round, err
	}
	server, err := b.Server.CPU()
	if err != nil {
		return round, err
	}
	start := time.Now()
	if err := do(); err != nil {
		return round, err
	}
	round.Duration = time.Since(start)
	after, err := client.Usage()
	if err != nil {
		return round, err
	}
	serverAfter, err := b.Server.CPU()
	round.Usage, round.Server = after.Minus(before), serverAfter.Minus(server)
	return round, err
}

// action is what people do with custom resources.
type action struct {
	// do is done with each of them.
	do func(context.Context, workload.Resource) error
	// generation is that of the custom resources afterwards.
	generation int64
	// settle says to wait until the client has done what it puts off.
	settle bool
}

// creation creates custom resources.
func (b *Bench) creation(settle bool) action {
	create := func(ctx context.Context, resource workload.Resource) error {
		return b.Server.Client.Create(ctx, resource)
	}
	return action{do: create, generation: 1, settle: settle}
}

// act does something with all custom resources as fast as it can, and waits until a client has made all of them ready.
func (b *Bench) act(ctx context.Context, client *child.Child, resources []workload.Resource, action action) (Round, error) {
	before, err := client.Usage()
	if err != nil {
		return Round{}, err
	}
	var asked []time.Time
	round, err := b.measured(client, func() error {
		if asked, err = timed(ctx, resources, action.do); err != nil {
			return err
		}
		return b.tracker.await(ctx, keysOf(resources), action.generation)
	})
	if err != nil {
		return round, err
	}
	round.Count = len(resources)
	round.Latencies = b.latencies(keysOf(resources), asked, action.generation)
	round.Settled = round.Usage
	if action.settle {
		round.Settled, err = settled(ctx, client)
		round.Settled = round.Settled.Minus(before)
	}
	return round, err
}

// latencies returns the times from asked until custom resources were ready, in order.
func (b *Bench) latencies(keys []types.NamespacedName, asked []time.Time, generation int64) []time.Duration {
	var all []time.Duration
	for i, key := range keys {
		if ready, found := b.tracker.readySince(key, generation); found {
			all = append(all, ready.Sub(asked[i]))
		}
	}
	slices.Sort(all)
	return all
}

// settled waits until a client writes nothing any more.
func settled(ctx context.Context, client *child.Child) (usage child.Usage, err error) {
	writes, last := -1, time.Now()
	err = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(context.Context) (bool, error) {
		if usage, err = client.Usage(); err != nil {
			return false, err
		}
		if now := usage.Total(child.Write); now != writes {
			writes, last = now, time.Now()
		}
		return time.Since(last) >= quiet, nil
	})
	return usage, err
}

// ready creates custom resources and waits until they are ready.
func (b *Bench) ready(ctx context.Context, resources []workload.Resource) error {
	if err := each(ctx, resources, b.creation(false).do); err != nil {
		return err
	}
	return b.tracker.await(ctx, keysOf(resources), 1)
}

// warmUp lets a client handle a few custom resources and removes them.
func (b *Bench) warmUp(ctx context.Context, kind workload.Kind) error {
	namespace, err := b.newNamespace(ctx)
	if err != nil {
		return err
	}
	resources, err := b.resources(ctx, kind, namespace, warmNumber, warm)
	if err != nil {
		return err
	}
	if err := b.ready(ctx, resources); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	return b.empty(ctx, namespace)
}

// profiled lets the operator write a profile of its processor time while do runs, if the options ask for it.
func (b *Bench) profiled(client *child.Child, name string, do func() error) (err error) {
	if !b.options.Profile {
		return do()
	}
	file := filepath.Join(b.options.Directory, name+".cpu.pprof")
	if err := client.Call("Process.StartCPUProfile", file, &child.Nothing{}); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, client.Call("Process.StopCPUProfile", child.Nothing{}, &child.Nothing{}))
		heap := filepath.Join(b.options.Directory, name+".heap.pprof")
		err = errors.Join(err, client.Call("Process.HeapProfile", heap, &child.Nothing{}))
		b.say("profiles: %s %s", file, heap)
	}()
	return do()
}
