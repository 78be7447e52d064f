package child

import (
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"runtime"
	"runtime/pprof"
)

// Nothing is what calls take or return that need no more.
type Nothing struct{}

// Process is what can be asked of a child process.
type Process struct {
	traffic *Traffic
	ready   func() error
	profile *os.File
}

// Ready returns when the process can work.
func (p *Process) Ready(_ Nothing, _ *Nothing) error { return p.ready() }

// Usage returns what the process has used.
func (p *Process) Usage(_ Nothing, usage *Usage) (err error) {
	*usage, err = measure(p.traffic)
	return err
}

// Heap is Usage with the live heap. It collects garbage, which costs the process CPU time.
func (p *Process) Heap(_ Nothing, usage *Usage) error {
	heap := liveHeap()
	err := p.Usage(Nothing{}, usage)
	usage.Heap = heap
	return err
}

// StartCPUProfile samples what the process does from now on, into a file in the format of pprof.
func (p *Process) StartCPUProfile(name string, _ *Nothing) (err error) {
	if p.profile, err = os.Create(name); err != nil {
		return fmt.Errorf("write the profile: %w", err)
	}
	return pprof.StartCPUProfile(p.profile)
}

// StopCPUProfile ends StartCPUProfile.
func (p *Process) StopCPUProfile(_ Nothing, _ *Nothing) error {
	pprof.StopCPUProfile()
	return p.profile.Close()
}

// HeapProfile collects garbage and writes a profile of what is left.
func (p *Process) HeapProfile(name string, _ *Nothing) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write the profile: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	runtime.GC()
	return pprof.WriteHeapProfile(file)
}

// Serve answers calls on a connection until the other side closes it: then the parent has ended or wants no more. ready returns when the
// process can work. others are further receivers of calls, by name.
func Serve(connection io.ReadWriteCloser, traffic *Traffic, ready func() error, others map[string]any) error {
	server := rpc.NewServer()
	if err := server.RegisterName("Process", &Process{traffic: traffic, ready: ready}); err != nil {
		return err
	}
	for name, receiver := range others {
		if err := server.RegisterName(name, receiver); err != nil {
			return err
		}
	}
	server.ServeCodec(jsonrpc.NewServerCodec(connection))
	return nil
}

// Standard is standard input and output as a connection.
type Standard struct {
	io.Reader
	io.Writer
}

// Close does nothing: the process ends when its connection does.
func (Standard) Close() error { return nil }
