//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/olm/e2e/clients"
	"github.com/example/memcached-operator/olm/e2e/pages"
	"github.com/example/memcached-operator/olm/walk"
)

// shop is the namespace that the pages use.
const shop = "shop"

// madeByTests is the label of what tests make in a namespace that a user may have, too.
const madeByTests = "example.com/made-by=end-to-end-tests"

// commandsOnPages makes a production cache with the commands on the pages, as they stand there, uses it, and renews its Secrets. It runs on
// the local cluster only, because the namespace is named as a user's may be.
func commandsOnPages(t *testing.T) {
	s := shopShell(t)
	readme := func(heading string) []pages.Code { return section(t, "README.md", heading) }
	production := func(heading string) []pages.Code { return section(t, "olm/production.md", heading) }
	inShort, openssl, users := readme("a-cache-for-production"), production("with-openssl"), production("users")

	s.run(one(t, inShort, "kubectl create namespace"))
	kubectl(t.Context(), t, "label", "namespace", shop, madeByTests)
	s.run(one(t, openssl, "openssl req -x509"))
	s.run(one(t, inShort, "printf"))
	s.apply(one(t, inShort, "kind: Memcached"))
	s.run(one(t, inShort, "kubectl wait"))

	p := produced(t, types.NamespacedName{Namespace: shop, Name: "sessions"}, 3)
	t.Run("the cache answers as the page says", func(t *testing.T) {
		s := s.in(t)
		listed := s.run(one(t, production("check-the-cache"), "range .status.endpoints"))
		contains(t, listed, "sessions-0.sessions-nodes.shop.svc 11211", "sessions-2.sessions-nodes.shop.svc 11211")
		forward := one(t, production("check-the-cache"), "port-forward")
		// On a busy machine the port may not be forwarded yet when the next command uses it.
		must(t, walk.Within(t.Context(), 30*time.Second, "the forwarded port to be used", func(context.Context) error {
			out, err := s.try(forward, "-euo", "pipefail")
			if err == nil && !strings.Contains(out, "STORED\r\nSTORED\r\nVALUE greeting 0 5\r\nhello\r\nEND") {
				err = fmt.Errorf("it prints:\n%s", out)
			}
			return err
		}))
	})
	t.Run("the first cache is shown as the page says", func(t *testing.T) {
		s.in(t).firstCache(one(t, readme("your-first-cache"), "samples/example-memcached"))
	})
	t.Run("every diagnosis works", s.diagnoses)
	t.Run("certificate and users are renewed", func(t *testing.T) {
		s.in(t).renews(p.in(t), renewal(t, openssl), one(t, users, "kubectl replace"))
	})
}

// shopShell is a shell whose kubectl uses the namespace of the pages. It makes sure that there is none but one that an interrupted run has
// left, and deletes it when the test ends.
func shopShell(t *testing.T) shell {
	t.Helper()
	deleteShop(t.Context(), t)
	t.Cleanup(func() { deleteShop(context.Background(), t) })
	s := newShell(t)
	kubectl(t.Context(), t, "config", "set-context", "--current", "--namespace="+shop, "--kubeconfig="+s.kubeconfig())
	return s
}

// deleteShop deletes the namespace of the pages. It fails the test if that is somebody else's.
func deleteShop(ctx context.Context, t *testing.T) {
	t.Helper()
	must(t, suite.cluster.Delete(ctx, "namespace", "-l", madeByTests, "--timeout=2m"))
	if left := kubectl(ctx, t, "get", "namespace", shop, "--ignore-not-found", "-o", "name"); left != "" {
		t.Fatalf("the namespace %s is there, and no test has made it: delete or rename it", shop)
	}
}

// renewal returns how to renew the certificate: the second to fourth command of the first block, and the second block.
func renewal(t *testing.T, openssl []pages.Code) string {
	t.Helper()
	lines := strings.SplitAfter(one(t, openssl, "openssl req -x509"), "\n")
	return strings.Join(lines[1:len(lines)-2], "") + one(t, openssl, "kubectl replace")
}

// firstCache runs a block of commands with what they print, and compares the columns.
func (s shell) firstCache(block string) {
	s.t.Helper()
	commands, printed, found := strings.Cut(block, "\n\n")
	if !found {
		s.t.Fatalf("the block shows no output:\n%s", block)
	}
	s.run(commands)
	_, err := suite.cluster.WaitReady(s.t.Context(), types.NamespacedName{Namespace: shop, Name: "example-memcached"}, 3, 2*time.Minute)
	must(s.t, err)
	columns := func(out string) []string {
		lines := strings.Split(out, "\n")
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "NAME") })
		if i < 0 || i+1 == len(lines) {
			s.t.Fatalf("there is no table in:\n%s", out)
		}
		row := strings.Fields(lines[i+1])
		return append(strings.Fields(lines[i]), row[:len(row)-1]...) // Without the age.
	}
	if shows, says := columns(s.run(commands)), columns(printed); !slices.Equal(shows, says) {
		s.t.Errorf("kubectl prints %v, and the page says %v", shows, says)
	}
	s.run("kubectl delete memcached example-memcached")
}

// assignments are what the runbooks set first, for example NAMESPACE=shop POD=sessions-0.
var assignments = regexp.MustCompile(`^[A-Z]+=\S+( [A-Z]+=\S+)*$`)

// complaints are what a shell and kubectl print about a command that is wrong. That a pod has not been restarted, and that the cluster has
// no metrics-server, is not wrong.
var complaints = regexp.MustCompile(`(?m)^(bash|jq|[Ee]rror|Unable)\b.*`)

// unsuccessful are commands that fail where a pod is well, has not been restarted and has reloaded nothing, on a cluster without
// metrics-server.
var unsuccessful = regexp.MustCompile(`logs .*--previous|kubectl top|grep '"ERROR"'|grep -E 'Memcached \(goes on`)

// diagnoses runs the diagnosis of every runbook, for a pod that is well.
func (s shell) diagnoses(t *testing.T) {
	runbooks, err := filepath.Glob(filepath.Join(suite.root, "olm", "runbooks", "Memcached*.md"))
	must(t, err)
	if len(runbooks) < 10 {
		t.Fatalf("found only %v", runbooks)
	}
	for _, file := range runbooks {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".md"), func(t *testing.T) {
			script := diagnosis(t, file)
			// The port that the runbook before has forwarded may still be in use for a moment.
			must(t, walk.Within(t.Context(), 30*time.Second, "every command to work", func(context.Context) error { return s.in(t).diagnose(script) }))
		})
	}
}

// diagnose runs a script to its end, and returns what went wrong in it.
func (s shell) diagnose(script string) error {
	s.t.Helper()
	script = "trap 'echo \"failed at line $LINENO\"' ERR\n" + script
	out, _ := s.try(script, "-uo", "pipefail") // What failed is in the output.
	var wrong []error
	for _, line := range complaints.FindAllString(out, -1) {
		if !strings.Contains(line, "previous terminated container") && !strings.Contains(line, "Metrics API not available") {
			wrong = append(wrong, fmt.Errorf("it prints %s", line))
		}
	}
	lines := strings.Split(script, "\n")
	for _, found := range failedAt.FindAllStringSubmatch(out, -1) {
		number, err := strconv.Atoi(found[1])
		must(s.t, err)
		if line := lines[number-1]; !unsuccessful.MatchString(line) {
			wrong = append(wrong, fmt.Errorf("it fails at: %s", line))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%w\nof:\n%s\nwhich prints:\n%s", errors.Join(wrong...), script, out)
	}
	return nil
}

// failedAt is what diagnose lets a shell print about a command that fails.
var failedAt = regexp.MustCompile(`(?m)^failed at line (\d+)$`)

// diagnosis returns the commands of a runbook, after what they need to be set.
func diagnosis(t *testing.T, file string) string {
	t.Helper()
	code, err := pages.Section(file, "diagnosis")
	must(t, err)
	var script strings.Builder
	commands := false
	for _, c := range code {
		if c.Inline && assignments.MatchString(c.Text) || !c.Inline && strings.Contains(c.Text, "kubectl ") {
			fmt.Fprintln(&script, c.Text)
			commands = commands || !c.Inline
		}
	}
	if !commands {
		t.Fatalf("%s has no command", file)
	}
	return script.String()
}

// renews makes a new certificate and another password by the commands on the page. The cache takes both, and loses nothing.
func (s shell) renews(p *production, certificate, users string) {
	t := s.t
	access := clients.Access{TLS: clientTLS(t, s.certificate()), User: "shop", Password: "a-password"}
	servers := p.servers(access)
	const items = 1000
	p.storeAll(servers, items, smallItem)
	before, reloads := p.pods(), p.reloads()
	s.run(certificate)
	s.run(users)
	p.awaitReloads(reloads)

	renewed := access
	renewed.TLS, renewed.Password, renewed.Network = clientTLS(t, s.certificate()), "another-password", p.network
	served, err := servedBy(t.Context(), renewed, p.hosts()[0])
	if want := readCertificates(t, s.certificate()).Leaf().SerialNumber.String(); err != nil || served != want {
		t.Errorf("the pods show the certificate %s, want %s: %v", served, want, err)
	}
	must(t, walk.Within(t.Context(), takeover, "the new password to be accepted", func(ctx context.Context) error {
		return storeOne(ctx, renewed, p.hosts()[0])
	}))
	p.complete(p.servers(renewed), items)
	p.same(before)
}

// certificate returns the files of the certificate that the commands on the page have made.
func (s shell) certificate() map[string]string {
	s.t.Helper()
	files := map[string]string{}
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		content, err := os.ReadFile(filepath.Join(s.folder, name))
		must(s.t, err)
		files[name] = string(content)
	}
	return files
}
