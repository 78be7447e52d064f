// Command demo shows the operator on a cluster, step by step: it installs the operator through OLM, creates a cache,
// stores a key in every pod and reads it back, and runs a web application. It leaves everything running, and ends with
// commands to look around and to clean up. With --undo it removes everything again.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"github.com/example/memcached-operator/olm/walk"
	"github.com/example/memcached-operator/olm/walk/forward"
	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
)

// cache and shop are samples in olm/samples: the cache of the tutorials, and a web application with a cache of its own.
var (
	cache = types.NamespacedName{Namespace: "default", Name: "example-memcached"}
	shop  = types.NamespacedName{Namespace: "default", Name: "shop"}
)

const cacheSize = 3

func main() {
	// The demo prints its steps. Log lines of client libraries would end up between them.
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	if command().ExecuteContext(signals.SetupSignalHandler()) != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var d demo
	var kubectl string
	var undo bool
	cmd := &cobra.Command{
		Use:          "demo",
		Short:        "Install the operator through OLM and use a cache, step by step",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			steps := d.steps()
			if undo {
				steps = d.undoSteps()
			} else if d.version == "" {
				return errors.New("--version is missing: set it to the version that the catalog offers, for example --version 0.1.0")
			}
			d.out, d.kubeconfig = cmd.OutOrStdout(), os.Getenv("KUBECONFIG")
			if d.cluster, err = walk.Connect(cmd.Context(), kubectl); err != nil {
				return err
			}
			if err := d.run(cmd.Context(), steps); err != nil || undo {
				return err
			}
			d.sayWhatNext()
			return nil
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&undo, "undo", false, "remove the operator, its applications, caches and CRDs instead")
	flags.StringVar(&kubectl, "kubectl", "kubectl", "kubectl to use")
	flags.StringVar(&d.version, "version", "", "version at the head of the catalog's channel, without a leading v")
	flags.StringVar(&d.manifests, "manifests", "olm", "directory of the manifests that install the operator")
	flags.StringVar(&d.samples, "samples", filepath.Join("olm", "samples"), "directory of the samples")
	cmd.SetErrPrefix("demo:")
	return cmd
}

type demo struct {
	version, manifests, samples string

	kubeconfig string // Of the cluster, empty for kubectl's default.

	cluster *walk.Cluster
	out     io.Writer
}

// step is one step of the demo. Its function returns the outcome in a sentence.
type step struct {
	title string
	do    func(context.Context) (string, error)
}

func (d *demo) steps() []step {
	return []step{
		{"Tell OLM where the catalog is, and subscribe to a channel", d.subscribe},
		{"Wait until OLM has installed the head of the channel", d.install},
		{fmt.Sprintf("Create a cache of %d pods", cacheSize), d.createCache},
		{"Look at the Deployment that the operator created, and at the status of the cache", d.showCache},
		{"Store a key in every pod and read it back", d.useCache},
		{"Run a web application with a cache", d.runApplication},
	}
}

func (d *demo) undoSteps() []step {
	return []step{
		{"Delete all applications and caches", func(ctx context.Context) (string, error) {
			return "They are deleted with everything they own", d.cluster.DeleteResources(ctx)
		}},
		{"Delete the Subscription, the operator, its CRDs and its namespace", func(ctx context.Context) (string, error) {
			return "The operator is removed", d.cluster.Uninstall(ctx, d.manifests)
		}},
	}
}

// run runs the steps, and prints the outcome of each and the time it took.
func (d *demo) run(ctx context.Context, steps []step) error {
	for i, s := range steps {
		start := time.Now()
		fmt.Fprintf(d.out, "\n[%d/%d] %s\n", i+1, len(steps), s.title)
		outcome, err := s.do(ctx)
		if err != nil {
			return fmt.Errorf("step %d of %d failed (%s): %w", i+1, len(steps), s.title, err)
		}
		d.say("OK: %s (%s).", outcome, time.Since(start).Round(100*time.Millisecond))
	}
	return nil
}

func (d *demo) sayWhatNext() {
	fmt.Fprint(d.out, "\nEverything is left running. Look around:\n")
	if d.kubeconfig != "" {
		d.say("export KUBECONFIG='%s'", d.kubeconfig) // make sets it for the demo alone.
	}
	d.say("kubectl get memcacheds,applications,deployments,services,pods")
	d.say(`kubectl patch memcached %s --type=merge -p '{"spec":{"size":2}}'`, cache.Name)
	d.say("kubectl get csv,subscription,installplan -n %s", walk.Namespace)
	fmt.Fprint(d.out, "The registry has the programs of this version only: before you install an older one from its catalog, run `make stage`.\n")
	fmt.Fprint(d.out, "Remove it with `make undemo`, and the local cluster with `make cluster-down`.\n")
}

func (d *demo) subscribe(ctx context.Context) (string, error) {
	d.say("kubectl apply -f %s", d.manifests)
	return "OLM serves the catalog, and the Subscription is created", d.cluster.Install(ctx, d.manifests)
}

func (d *demo) install(ctx context.Context) (string, error) {
	if err := d.cluster.WaitInstalled(ctx, d.version, 5*time.Minute); err != nil {
		return "", err
	}
	return walk.CSVName(d.version) + " is installed", d.show(ctx, "get", "csv", "-n", walk.Namespace)
}

func (d *demo) createCache(ctx context.Context) (string, error) {
	if err := d.show(ctx, "apply", "-f", filepath.Join(d.samples, "example-memcached.yaml"), "-n", cache.Namespace); err != nil {
		return "", err
	}
	_, err := d.cluster.WaitReady(ctx, cache, cacheSize, 2*time.Minute)
	return fmt.Sprintf("The cache is ready with %d pods", cacheSize), err
}

func (d *demo) showCache(ctx context.Context) (string, error) {
	if err := d.show(ctx, "get", "deployment", cache.Name, "-n", cache.Namespace); err != nil {
		return "", err
	}
	return "The cache reports the pods of its Deployment", d.show(ctx, "get", "memcached", cache.Name, "-n", cache.Namespace)
}

func (d *demo) useCache(ctx context.Context) (string, error) {
	ready, err := d.cluster.WaitReady(ctx, cache, cacheSize, time.Minute)
	if err != nil {
		return "", err
	}
	for _, pod := range ready.Status.Nodes {
		value, err := forward.StoreAndRead(ctx, d.cluster.Config, types.NamespacedName{Namespace: cache.Namespace, Name: pod})
		if err != nil {
			return "", err
		}
		d.say("%s: set greeting, get greeting -> %q", pod, value)
	}
	return fmt.Sprintf("All %d pods returned the value", cacheSize), nil
}

func (d *demo) runApplication(ctx context.Context) (string, error) {
	if err := d.show(ctx, "apply", "-f", filepath.Join(d.samples, "application-with-cache.yaml"), "-n", shop.Namespace); err != nil {
		return "", err
	}
	kind := appv1alpha1.GroupVersion.WithKind(appv1alpha1.ApplicationKind)
	if err := d.cluster.WaitReadyResource(ctx, kind, shop, 2*time.Minute); err != nil {
		return "", err
	}
	if err := d.show(ctx, "get", "application", shop.Name, "-n", shop.Namespace); err != nil {
		return "", err
	}
	servers, err := d.cluster.Kubectl(ctx, "get", "deployment", shop.Name, "-n", shop.Namespace,
		"-o", `jsonpath={.spec.template.spec.containers[0].env[?(@.name=="MEMCACHED_SERVERS")].value}`)
	return "The application is ready, and finds its cache at " + servers, err
}

// show runs kubectl, and prints the command and its output.
func (d *demo) show(ctx context.Context, args ...string) error {
	d.say("kubectl %s", strings.Join(args, " "))
	out, err := d.cluster.Kubectl(ctx, args...)
	for line := range strings.Lines(out) {
		d.say("  %s", strings.TrimRight(line, "\n"))
	}
	return err
}

func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.out, "      "+format+"\n", args...)
}
