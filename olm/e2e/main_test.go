//go:build e2e

// Package e2e tests the tutorials and every upgrade on a real cluster with a real OLM, with the files in olm/, the Makefile
// and the unmodified operator-sdk. `make e2e` prepares everything that the tests need, and tells them in environment
// variables where it is.
//
// Each test starts on a cluster without the operator and removes what it created, so tests can run alone and in any order.
// Tests that leave the operator as it is are subtests of TestInstalledOperator, which installs it once.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/memcached-operator/olm/e2e/upgrades"
	"github.com/example/memcached-operator/olm/walk"
)

// suite is what `make e2e` prepared.
var suite struct {
	cluster   *walk.Cluster
	local     bool   // the cluster is the disposable one of `make cluster`
	root      string // the checkout
	stage     *upgrades.Stage
	version   string   // the release under test, without the leading v
	manifests string   // the folder that installs it: olm/, or a copy for another registry
	bundle    string   // reference of its bundle image
	bundleDir string   // folder of that bundle
	sdk       string   // path of operator-sdk
	opm       string   // image that run bundle serves the bundle with
	mirror    []string // command that runs its arguments with the release mirror, empty where GitHub is reachable
	control   []string // command of the local cluster, empty on other clusters
	scorecard []string // flags of scorecard that name images this cluster can pull
	registry  string   // where a locally built image is pushed and pulled
	left      leftover // what the tests so far left on the cluster
}

func TestMain(m *testing.M) {
	// Without a logger, controller-runtime prints a warning during a test.
	ctrllog.SetLogger(logr.Discard())
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	code := m.Run()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if suite.left == catalogs {
		if err := removeAll(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "e2e: remove the catalogs:", err)
			code = 1
		}
	}
	os.Exit(code)
}

func prepare() error {
	var missing []string
	env := func(name string) string {
		value := os.Getenv(name)
		if value == "" {
			missing = append(missing, name)
		}
		return value
	}
	if routes := os.Getenv("E2E_ROUTES"); routes != "" && routes != "some" {
		return fmt.Errorf("ROUTES is %q: leave it out to walk every upgrade, or set ROUTES=some", routes)
	}
	stageFile := env("E2E_STAGE")
	suite.version = env("E2E_VERSION")
	suite.sdk = env("OPERATOR_SDK")
	suite.registry = env("REGISTRY")
	suite.opm = env("E2E_OPM_IMAGE")
	kubectl := env("KUBECTL")
	if len(missing) > 0 {
		return fmt.Errorf("%s not set: run `make e2e`, which sets them", strings.Join(missing, ", "))
	}
	suite.local = os.Getenv("E2E_LOCAL") != ""
	suite.mirror = strings.Fields(os.Getenv("E2E_MIRROR"))
	suite.control = strings.Fields(os.Getenv("E2E_CLUSTER"))
	if suite.local && len(suite.control) == 0 {
		return errors.New("E2E_CLUSTER not set: run `make e2e`, which sets it")
	}
	suite.scorecard = strings.Fields(os.Getenv("E2E_SCORECARD_FLAGS"))
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return err
	}
	suite.root = root
	if err := readStage(stageFile); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	suite.left = unknown
	if suite.cluster, err = walk.Connect(ctx, kubectl); err != nil {
		return err
	}
	if suite.local {
		return nil
	}
	return refuseUsed(ctx)
}

// refuseUsed refuses a cluster in use, because the tests delete every cache and the operator.
func refuseUsed(ctx context.Context) error {
	used, err := suite.cluster.InUse(ctx)
	if err != nil {
		return err
	}
	if len(used) > 0 {
		return fmt.Errorf("the tests would delete what this cluster has: %s; delete it yourself, or name another cluster in KUBECONFIG", strings.Join(used, ", "))
	}
	return nil
}

// readStage reads what was staged, and where.
func readStage(file string) error {
	var err error
	if suite.stage, err = upgrades.Open(file, suite.registry); err != nil {
		return fmt.Errorf("E2E_STAGE: %w", err)
	}
	staged := suite.stage.Find(suite.version)
	if staged == nil {
		return fmt.Errorf("E2E_STAGE %s has no version %s", file, suite.version)
	}
	for _, version := range suite.stage.Versions {
		if version.OperatorImage == "" {
			return fmt.Errorf("E2E_STAGE %s has no programs of v%s, because `make demo` leaves them out: run `make stage`", file, version.Version)
		}
	}
	suite.bundle = suite.stage.Pull(staged.BundleImage)
	suite.manifests = filepath.Join(filepath.Dir(file), "olm")
	suite.bundleDir = filepath.Join(filepath.Dir(file), "bundles", "v"+suite.version)
	return nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func kubectl(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	out, err := suite.cluster.Kubectl(ctx, args...)
	must(t, err)
	return out
}

// command runs a program in the checkout, and returns its output with that on standard error.
func command(ctx context.Context, name string, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = suite.root, &out, &out
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out.String())
	}
	return out.String(), nil
}

// run is command, but fails the test on an error.
func run(ctx context.Context, t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := command(ctx, name, args...)
	must(t, err)
	return out
}

// applyManifest applies objects in YAML, or JSON, with these flags of kubectl apply, and returns the error if they are refused.
func applyManifest(t *testing.T, manifest string, flags ...string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	must(t, os.WriteFile(file, []byte(manifest), 0o600))
	_, err := suite.cluster.Kubectl(t.Context(), append([]string{"apply", "-f", file}, flags...)...)
	return err
}

// kubernetesVersion returns the version of the cluster's API server.
func kubernetesVersion(t *testing.T) string {
	t.Helper()
	var version struct{ GitVersion string }
	must(t, json.Unmarshal([]byte(kubectl(t.Context(), t, "get", "--raw", "/version")), &version))
	return version.GitVersion
}

// namespace creates a namespace with these labels ("key=value") and deletes it when the test ends.
func namespace(t *testing.T, name string, labels ...string) {
	t.Helper()
	namespaces(t, name)
	for _, label := range labels {
		kubectl(t.Context(), t, "label", "namespace", name, label)
	}
}

// namespaces creates namespaces and deletes them, all at the same time, when the test ends. It first deletes those that an interrupted run
// left.
func namespaces(t *testing.T, names ...string) {
	t.Helper()
	if len(names) == 0 {
		return
	}
	remove := func(ctx context.Context) {
		must(t, suite.cluster.Delete(ctx, append([]string{"namespace", "--timeout=2m"}, names...)...))
	}
	remove(t.Context())
	t.Cleanup(func() { remove(context.Background()) })
	for _, name := range names {
		kubectl(t.Context(), t, "create", "namespace", name)
	}
}

func inDefault(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

func sample(name string) string {
	return filepath.Join(suite.root, "olm", "samples", name)
}

// contains fails the test unless text holds every one of the parts.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	var missing []error
	for _, part := range parts {
		if !strings.Contains(text, part) {
			missing = append(missing, fmt.Errorf("%q is missing", part))
		}
	}
	if err := errors.Join(missing...); err != nil {
		t.Errorf("%v in:\n%s", err, text)
	}
}
