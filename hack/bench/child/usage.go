package child

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Usage is what a process has used since it was started.
type Usage struct {
	// CPU is user and system time, in seconds.
	CPU float64 `json:"cpu"`

	// RSS and PeakRSS are resident memory now and at most, in bytes.
	RSS     uint64 `json:"rss"`
	PeakRSS uint64 `json:"peakRSS"`

	// Heap is the size of live objects, in bytes; 0 unless garbage was collected for it.
	Heap uint64 `json:"heap,omitempty"`

	// Reconciles is how many reconciles have ended, and Pending how many are under way or wait in a queue now.
	Reconciles int `json:"reconciles,omitempty"`
	Pending    int `json:"pending,omitempty"`

	// Calls are the requests to the API server.
	Calls []Count `json:"calls"`
}

// Minus returns what was used since an earlier time. Memory is that of now.
func (u Usage) Minus(earlier Usage) Usage {
	before := map[Place]int{}
	for _, count := range earlier.Calls {
		before[count.Place] = count.Count
	}
	difference := u
	difference.CPU -= earlier.CPU
	difference.Reconciles -= earlier.Reconciles
	difference.Calls = nil
	for _, count := range u.Calls {
		if count.Count -= before[count.Place]; count.Count > 0 {
			difference.Calls = append(difference.Calls, count)
		}
	}
	return difference
}

// Total returns the number of requests of a class.
func (u Usage) Total(class Class) int {
	total := 0
	for _, count := range u.Calls {
		if count.Class == class {
			total += count.Count
		}
	}
	return total
}

// Count returns how often a call was made, in all namespaces.
func (u Usage) Count(call Call) int {
	total := 0
	for _, count := range u.Calls {
		if count.Call == call {
			total += count.Count
		}
	}
	return total
}

// In returns the usage with the requests of one namespace alone.
func (u Usage) In(namespace string) Usage {
	u.Calls = slices.DeleteFunc(slices.Clone(u.Calls), func(c Count) bool { return c.Namespace != namespace })
	return u
}

// measure returns the usage of this process.
func measure(traffic *Traffic) (Usage, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return Usage{}, fmt.Errorf("ask for the CPU time: %w", err)
	}
	self, err := procfs.Self()
	if err != nil {
		return Usage{}, err
	}
	status, err := self.NewStatus()
	if err != nil {
		return Usage{}, fmt.Errorf("ask for the resident memory: %w", err)
	}
	reconciles, pending, err := reconciles()
	return Usage{
		CPU: seconds(used.Utime) + seconds(used.Stime), RSS: status.VmRSS, PeakRSS: status.VmHWM, Calls: traffic.Counts(),
		Reconciles: reconciles, Pending: pending,
	}, err
}

// reconciles reads the metrics of controller-runtime.
func reconciles() (ended, pending int, err error) {
	families, err := metrics.Registry.Gather()
	if err != nil {
		return 0, 0, err
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			switch family.GetName() {
			case "controller_runtime_reconcile_total":
				ended += int(metric.GetCounter().GetValue())
			case "controller_runtime_active_workers", "workqueue_depth":
				pending += int(metric.GetGauge().GetValue())
			}
		}
	}
	return ended, pending, nil
}

func seconds(value syscall.Timeval) float64 { return time.Duration(value.Nano()).Seconds() }

// liveHeap collects garbage and returns the size of what is left. The second collection frees what finalizers kept in the first.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
