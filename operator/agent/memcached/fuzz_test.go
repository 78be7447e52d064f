package memcached

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/example/memcached-operator/operator/agent/api"
	"github.com/example/memcached-operator/operator/internal/testkit"
)

// scripted is a connection to something in the place of memcached: it says the same whatever it is asked, again and again if it is
// endless.
type scripted struct {
	net.Conn
	says    []byte
	endless bool
	said    int
	asked   bytes.Buffer
}

func (s *scripted) Write(command []byte) (int, error) { return s.asked.Write(command) }
func (s *scripted) SetDeadline(time.Time) error       { return nil }
func (s *scripted) Read(into []byte) (int, error) {
	if s.said >= len(s.says) && (!s.endless || len(s.says) == 0) {
		return 0, io.EOF
	}
	n := copy(into, s.says[s.said%len(s.says):])
	s.said += n
	return n, nil
}

// Whatever runs in the place of memcached, its answers take little memory and time, and what is taken over from them is text that can
// be shown.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		"VERSION 1.6.45\r\n", "VERSION 1.6.45\r\nSTAT pid 17\r\nSTAT uptime 5\r\nEND\r\n", "STAT a b c\r\nEND\r\n", "STAT a\r\nSTAT  \r\nEND\r\n", "END\n",
		"STAT a\x1b[2J \r\nEND\r\n", "VERSION \x1b[2J\r\n", "ERROR\x00\r\n", "CLIENT_ERROR unauthenticated\r\n", "SERVER_ERROR \x9b\r\n", "BUSY\r\n", "OK\r\n", "", "STAT a b\r\n",
		strings.Repeat("x", 5000), "STAT pid 9223372036854775808\r\nEND\r\n", "STAT \r\r\n", "STAT " + strings.Repeat("\r", 4000) + "\n",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, says []byte, endless bool) {
		for topic, ask := range map[string]func(*Conn) (string, error){
			"version": func(c *Conn) (string, error) { return c.Version(t.Context()) },
			"stats": func(c *Conn) (string, error) {
				stats, err := c.Stats(t.Context(), "")
				if err == nil {
					_, err = stats.Int("pid")
					testkit.OneLine(t, err)
					err = nil
				}
				return fmt.Sprint(stats), err
			},
			"release": func(c *Conn) (string, error) { return "", c.ReleasePage(t.Context(), "1") },
			"login": func(c *Conn) (string, error) {
				return "", c.login(t.Context(), api.User{Name: "user", Password: "password"})
			},
		} {
			conn := &scripted{says: says, endless: endless}
			answer, err := ask(newConn(conn))
			testkit.OneLine(t, err)
			if err != nil {
				testkit.OneLine(t, errors.New(Brief(err)))
			}
			if conn.said > MaxAnswer+8192 { // It reads ahead.
				t.Errorf("%s: %d bytes are read", topic, conn.said)
			}
			if strings.ContainsFunc(answer, unicode.IsControl) {
				t.Errorf("%s: %q has control characters", topic, answer)
			}
		}
	})
}

// Users that are accepted are sent in one command, so that nobody has others sent by a password; and only memcached's own answer counts
// as a login.
func FuzzLogin(f *testing.F) {
	f.Add("user:password\n", "CLIENT_ERROR unauthenticated\r\nSTORED\r\n")
	f.Add("a:b:c", "CLIENT_ERROR unauthenticated\r\nCLIENT_ERROR authentication failure\r\n")
	f.Add("0:0", "CLIENT_ERROR unauthenticated\nSTORED")
	f.Add("a:b\tset x 0 0 1\x0b", "VERSION 1.6.45\r\nSTORED\r\n")
	f.Fuzz(func(t *testing.T, file, says string) {
		users, err := api.ParseUsers("the file", []byte(file))
		if err != nil {
			return
		}
		user, _ := users.First()
		conn := &scripted{says: []byte(says)}
		err = newConn(conn).login(t.Context(), user)
		testkit.OneLine(t, err)
		login := user.Name + " " + user.Password
		want := fmt.Sprintf("version\r\nset auth 0 0 %d\r\n%s\r\n", len(login), login)
		if asked := conn.asked.String(); asked != want && asked != "version\r\n" {
			t.Errorf("%q is sent", asked)
		}
		lines := strings.Split(says, "\n")
		refused := len(lines) > 2 && strings.TrimSuffix(lines[0], "\r") == unauthenticated && strings.TrimSuffix(lines[1], "\r") == "STORED"
		if (err == nil) != refused {
			t.Errorf("after %q the login gives %v", says, err)
		}
	})
}

// A process can give itself any name. The agent signals none but the one that is called memcached.
func FuzzFind(f *testing.F) {
	for _, seed := range []string{"memcached", "memcached) Z (", "memcached\n", "(memcached)", "a) S 1 (memcached", "", "\\", ")", "memcached2", "memcached-of-an"} {
		f.Add(seed, "memcached", false)
		f.Add(seed, "memcached-of-another-kind", true)
	}
	directory := f.TempDir()
	if err := os.MkdirAll(filepath.Join(directory, "7"), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, comm, name string, zombie bool) {
		comm, _, _ = strings.Cut(comm[:min(len(comm), nameLength)], "\x00")
		if name == "" || len(name) != len(filepath.Base(name)) {
			return
		}
		state := "S"
		if zombie {
			state = "Z"
		}
		shown := strings.NewReplacer("\n", `\n`, `\`, `\\`).Replace(comm) // As Linux does, see proc_task_name in fs/proc/array.c.
		stat := fmt.Sprintf("7 (%s) %s%s\n", shown, state, strings.Repeat(" 0", 49))
		if err := os.WriteFile(filepath.Join(directory, "7", "stat"), []byte(stat), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := Process{Name: name, Directory: directory}.Find()
		testkit.OneLine(t, err)
		if isIt := shown == name[:min(len(name), nameLength)] && !zombie; isIt != (found.PID == 7) || isIt != (err == nil) {
			t.Errorf("a process called %q is taken for %q: %d, %v", comm, name, found.PID, err)
		}
	})
}
