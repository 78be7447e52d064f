package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/hack/cluster/internal/cluster"
	"github.com/example/memcached-operator/hack/cluster/internal/host"
)

func up() *cobra.Command {
	var options cluster.Options
	command := subcommand("up", "Bring the cluster up, or check the one that is up; prints the KUBECONFIG line", cobra.NoArgs,
		func(ctx context.Context, c *cluster.Cluster, _ []string) (string, error) {
			return fmt.Sprintf("export KUBECONFIG=%s\n", c.Layout.Kubeconfig()), c.Up(ctx, options)
		})
	command.Flags().IntVar(&options.Nodes, "nodes", 0, "number of nodes: 1 or 2 (default: those that the cluster has, or 2)")
	command.Flags().BoolVar(&options.WithoutOLM, "without-olm", false, "do not install OLM, so that another program can")
	command.Flags().BoolVar(&options.WithOLMv1, "with-olm-v1", false, "also bring up OLM v1, beside OLM")
	command.Flags().BoolVar(&options.WithNetworkPolicies, "with-network-policies", false, "also enforce NetworkPolicies")
	command.Flags().BoolVar(&options.WithSDK, "with-sdk", false, "also build operator-sdk and provide the image of its scorecard")
	return command
}

func down() *cobra.Command {
	return subcommand("down", "Stop the cluster and remove every trace of it; tools, packages and images stay cached", cobra.NoArgs,
		func(_ context.Context, c *cluster.Cluster, _ []string) (string, error) { return "", c.Down() })
}

func kill() *cobra.Command {
	return subcommand("kill NAME...", "Kill processes of the cluster. A node, such as node-1, loses its power: its containers end too", cobra.MinimumNArgs(1),
		func(_ context.Context, c *cluster.Cluster, names []string) (string, error) { return "", c.Kill(names) })
}

func start() *cobra.Command {
	return subcommand("start NAME...", "Start processes or nodes that were killed, and wait until they are ready", cobra.MinimumNArgs(1),
		func(ctx context.Context, c *cluster.Cluster, names []string) (string, error) {
			return "", c.Start(ctx, names)
		})
}

func pause() *cobra.Command {
	return subcommand("pause NAME...", "Keep processes from doing anything. Of a node it is the kubelet: its containers run on", cobra.MinimumNArgs(1),
		func(_ context.Context, c *cluster.Cluster, names []string) (string, error) { return "", c.Pause(names) })
}

func resume() *cobra.Command {
	return subcommand("resume NAME...", "Let paused processes go on", cobra.MinimumNArgs(1),
		func(_ context.Context, c *cluster.Cluster, names []string) (string, error) {
			return "", c.Resume(names)
		})
}

func env() *cobra.Command {
	return subcommand("env", "Print the shell lines that direct programs to the cluster and its registry", cobra.NoArgs,
		func(_ context.Context, c *cluster.Cluster, _ []string) (string, error) {
			return fmt.Sprintf("export KUBECONFIG=%s\nexport SSL_CERT_FILE=%s\n", c.Layout.Kubeconfig(), c.Layout.TrustBundle()), c.Running()
		})
}

func packages() *cobra.Command {
	return subcommand("packages", "Install the missing Debian packages, as up does, and start nothing", cobra.NoArgs,
		func(ctx context.Context, c *cluster.Cluster, _ []string) (string, error) { return "", c.Packages(ctx) })
}

func tool() *cobra.Command {
	return subcommand("tool NAME...", "Build the named tools unless they are there; prints their paths, one per line", cobra.MinimumNArgs(1),
		func(ctx context.Context, c *cluster.Cluster, names []string) (string, error) {
			var paths strings.Builder
			for _, name := range names {
				dir, err := c.Tool(ctx, name)
				if err != nil {
					return "", err
				}
				fmt.Fprintln(&paths, filepath.Join(dir, name))
			}
			return paths.String(), nil
		})
}

func memcached() *cobra.Command {
	return subcommand("memcached", "Download memcached of several Debian releases unless it is there; prints the folders for MEMCACHED_ROOTS", cobra.NoArgs,
		func(ctx context.Context, c *cluster.Cluster, _ []string) (string, error) {
			roots, err := c.Memcached(ctx)
			return strings.Join(roots, ":") + "\n", err
		})
}

func assets() *cobra.Command {
	return subcommand("assets", "Build the programs of Kubernetes unless they are there; prints the folder for KUBEBUILDER_ASSETS", cobra.NoArgs,
		func(ctx context.Context, c *cluster.Cluster, _ []string) (string, error) {
			dir, err := c.Tool(ctx, "kube-apiserver")
			return dir + "\n", err
		})
}

func mirror() *cobra.Command {
	return subcommand("mirror -- COMMAND [ARGUMENT...]", "Run a command, such as operator-sdk olm install, with OLM's release page mirrored on this machine", cobra.MinimumNArgs(1),
		func(ctx context.Context, c *cluster.Cluster, args []string) (string, error) {
			return "", runMirrored(ctx, c, args)
		})
}

// runMirrored runs the command in the root of the checkout.
func runMirrored(ctx context.Context, c *cluster.Cluster, args []string) error {
	mirror, err := c.Mirror(ctx)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Dir = c.Layout.Repo
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Env = append(os.Environ(),
		"HTTPS_PROXY="+mirror.URL(), "https_proxy="+mirror.URL(),
		"NO_PROXY=localhost,127.0.0.1,"+host.TestRange, "no_proxy=localhost,127.0.0.1,"+host.TestRange,
		"SSL_CERT_FILE="+c.Layout.TrustBundle())
	if os.Getenv("KUBECONFIG") == "" {
		command.Env = append(command.Env, "KUBECONFIG="+c.Layout.Kubeconfig())
	}
	if err = command.Run(); err != nil {
		err = fmt.Errorf("%s: %w", args[0], err)
	}
	return errors.Join(err, mirror.Stop())
}
