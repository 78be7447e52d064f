// Command demo shows the whole way of the operator on a cluster, step by step: it
// installs it through OLM, creates a cache, stores a key in every pod and reads it back, and runs a web application.
// It leaves everything running, and ends with the commands to look around and to clean up.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/memcached-operator/olm/walk"
	appv1alpha1 "github.com/example/memcached-operator/operator/api/app/v1alpha1"
)

// cache is the example that the tutorials use, shop a web application with a cache of its own; both are in olm/samples.
var (
	cache = types.NamespacedName{Namespace: "default", Name: "example-memcached"}
	shop  = types.NamespacedName{Namespace: "default", Name: "shop"}
)

const cacheSize = 3

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var d demo
	cmd := &cobra.Command{
		Use:           "demo",
		Short:         "Install the operator through OLM and use a cache, step by step",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			d.out = cmd.OutOrStdout()
			if d.cluster, err = walk.Connect(cmd.Context(), d.kubectl); err != nil {
				return err
			}
			return d.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&d.undo, "undo", false, "take the operator, its applications, caches and CRDs away instead")
	flags.StringVar(&d.kubectl, "kubectl", "kubectl", "kubectl to use")
	flags.StringVar(&d.version, "version", "", "version of the operator that the catalog's channel heads at, without the leading v")
	flags.StringVar(&d.manifests, "manifests", "olm", "folder of the manifests that install the operator")
	flags.StringVar(&d.samples, "samples", filepath.Join("olm", "samples"), "folder of the samples")
	return cmd
}

type demo struct {
	kubectl, version, manifests, samples string
	undo                                 bool

	cluster *walk.Cluster
	out     io.Writer
}

type step struct {
	title string
	do    func(context.Context) error
}

func (d *demo) run(ctx context.Context) error {
	if d.undo {
		return d.cluster.Uninstall(ctx, d.manifests)
	}
	if d.version == "" {
		return errors.New("--version is missing: say which version the catalog offers, for example --version 0.1.0")
	}
	steps := []step{
		{"Tell OLM where the catalog is and subscribe to a channel", d.subscribe},
		{"OLM resolves the channel's head, unpacks its bundle and installs it", d.install},
		{"Create a cache of three pods", d.createCache},
		{"The operator made a Deployment and reports on it", d.showCache},
		{"Store a key in every pod and read it back", d.useCache},
		{"Run a web application that is bound to a cache", d.runApplication},
	}
	for i, s := range steps {
		start := time.Now()
		fmt.Fprintf(d.out, "\n[%d/%d] %s\n", i+1, len(steps), s.title)
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("step %d, %s: %w", i+1, strings.ToLower(s.title[:1])+s.title[1:], err)
		}
		fmt.Fprintf(d.out, "      done in %s\n", time.Since(start).Round(100*time.Millisecond))
	}
	fmt.Fprintf(d.out, `
Everything is left running. Look around:
      kubectl get memcacheds,applications,deployments,services,pods
      kubectl patch memcached %s --type=merge -p '{"spec":{"size":2}}'
      kubectl get csv,subscription,installplan -n %s
Take it away with `+"`make undemo`, and the local cluster with `make cluster-down`.\n", cache.Name, walk.Namespace)
	return nil
}

func (d *demo) subscribe(ctx context.Context) error {
	d.say("kubectl apply -f %s", d.manifests)
	return d.cluster.Install(ctx, d.manifests)
}

func (d *demo) install(ctx context.Context) error {
	if err := d.cluster.WaitInstalled(ctx, d.version, 5*time.Minute); err != nil {
		return err
	}
	return d.show(ctx, "get", "csv", "-n", walk.Namespace)
}

func (d *demo) createCache(ctx context.Context) error {
	if err := d.show(ctx, "apply", "-f", filepath.Join(d.samples, "example-memcached.yaml"), "-n", cache.Namespace); err != nil {
		return err
	}
	_, err := d.cluster.WaitReady(ctx, cache, cacheSize, 2*time.Minute)
	return err
}

func (d *demo) showCache(ctx context.Context) error {
	if err := d.show(ctx, "get", "deployment", cache.Name, "-n", cache.Namespace); err != nil {
		return err
	}
	return d.show(ctx, "get", "memcached", cache.Name, "-n", cache.Namespace)
}

func (d *demo) useCache(ctx context.Context) error {
	pods, err := d.cluster.Pods(ctx, cache)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		value, err := d.cluster.StoreAndRead(ctx, types.NamespacedName{Namespace: cache.Namespace, Name: pod})
		if err != nil {
			return err
		}
		d.say("%s   set greeting, get greeting -> %q", pod, value)
	}
	return nil
}

func (d *demo) runApplication(ctx context.Context) error {
	if err := d.show(ctx, "apply", "-f", filepath.Join(d.samples, "application-with-cache.yaml"), "-n", shop.Namespace); err != nil {
		return err
	}
	kind := appv1alpha1.GroupVersion.WithKind(appv1alpha1.ApplicationKind)
	if err := d.cluster.WaitReadyResource(ctx, kind, shop, 2*time.Minute); err != nil {
		return err
	}
	if err := d.show(ctx, "get", "application", shop.Name, "-n", shop.Namespace); err != nil {
		return err
	}
	return d.show(ctx, "get", "deployment", shop.Name, "-n", shop.Namespace,
		"-o", `jsonpath={.spec.template.spec.containers[0].env[?(@.name=="MEMCACHED_SERVERS")].value}`)
}

// show runs kubectl and prints the command and what it said.
func (d *demo) show(ctx context.Context, args ...string) error {
	d.say("kubectl %s", strings.Join(args, " "))
	out, err := d.cluster.Kubectl(ctx, args...)
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		d.say("  %s", strings.TrimRight(line, "\n"))
	}
	return nil
}

func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.out, "      "+format+"\n", args...)
}
