package sizing_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	agenttesting "github.com/example/memcached-operator/operator/agent/testing"
	"github.com/example/memcached-operator/operator/memcached/desired/sizing"
)

// server is a memcached that runs with the arguments of a case.
type server struct {
	*agenttesting.Server
	t         *testing.T
	arguments sizing.Result
	secure    bool
}

func startServer(t *testing.T, run agenttesting.Runner, r sizing.Request, a sizing.Result) *server {
	t.Helper()
	flags := []string{
		"-m", strconv.FormatInt(a.CacheMemory, 10),
		"-c", strconv.Itoa(int(a.MaxConnections)),
		"-I", strconv.FormatInt(a.MaxItemSize, 10),
		"-t", strconv.Itoa(int(a.Threads)),
	}
	if r.TLS {
		files := agenttesting.NewAuthority(t).Issue(t, now().Add(time.Hour))
		volume := agenttesting.NewVolume(t, files)
		flags = append(flags, "-Z", "-o", "ssl_chain_cert="+volume.File("tls.crt")+",ssl_key="+volume.File("tls.key"))
	}
	if r.WarmRestart {
		flags = append(flags, "-e", filepath.Join(memoryDirectory(t), "items"), "-o", fmt.Sprintf("hashpower=%d", sizing.HashPower(a.CacheMemory)))
	}
	return &server{Server: run.Start(t, flags...), t: t, arguments: a, secure: r.TLS}
}

// now is the real time: what is measured here is a real process.
func now() time.Time {
	return time.Now() //nolint:forbidigo // the package itself stays without a clock
}

// dial connects.
func (s *server) dial() net.Conn {
	s.t.Helper()
	c, err := s.tryDial()
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// tryDial connects once. memcached closes a connection beyond -c at once, which a handshake or a first answer shows.
func (s *server) tryDial() (net.Conn, error) {
	c, err := net.DialTimeout("tcp", s.Address, 5*time.Second)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(now().Add(time.Minute))
	if s.secure {
		// The server's identity does not matter for its memory.
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	}
	answer := make([]byte, len("MN\r\n"))
	_, err = io.WriteString(c, "mn\r\n")
	if err == nil {
		_, err = io.ReadFull(c, answer)
	}
	if header, plain := errors.AsType[tls.RecordHeaderError](err); plain {
		err = fmt.Errorf("%w: it begins with %q", err, header.RecordHeader)
	}
	if err == nil && string(answer) != "MN\r\n" {
		err = fmt.Errorf("memcached answers %q", answer)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (s *server) send(c net.Conn, text string) {
	s.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		s.t.Fatal(err)
	}
}

// readUntil returns the lines up to one that begins with prefix.
func (s *server) readUntil(c net.Conn, prefix string) []string {
	s.t.Helper()
	var lines []string
	for reader := bufio.NewReader(c); ; {
		line, err := reader.ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		lines = append(lines, strings.TrimSpace(line))
		if strings.HasPrefix(line, prefix) {
			return lines
		}
	}
}

// peakKiB returns the highest resident set since the start.
func (s *server) peakKiB() int64 {
	s.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		s.t.Skip("no /proc: ", err)
	}
	for line := range strings.Lines(string(raw)) {
		if value, found := strings.CutPrefix(line, "VmHWM:"); found {
			peak, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return peak
		}
	}
	s.t.Fatal("the kernel does not tell the highest resident set")
	return 0
}

// memoryDirectory returns a new directory in a tmpfs.
func memoryDirectory(t *testing.T) string {
	t.Helper()
	directory, err := os.MkdirTemp("/dev/shm", "sizing")
	if err != nil {
		t.Skip("no tmpfs to write to: ", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	return directory
}
