package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/hack/cluster/internal/cluster"
	"github.com/example/memcached-operator/hack/cluster/internal/host"
)

func mirrored() *cobra.Command {
	return &cobra.Command{
		Use:   "mirror -- COMMAND [ARGUMENT...]",
		Short: "Run a command, such as operator-sdk olm install, with OLM's release page mirrored on this machine",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, c, err := local()
			if err != nil {
				return err
			}
			return runMirrored(cmd.Context(), l, c, args)
		},
	}
}

// runMirrored runs the command in the root of the checkout.
func runMirrored(ctx context.Context, l host.Layout, c *cluster.Cluster, args []string) error {
	mirror, err := c.Mirror(ctx)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Dir = l.Repo
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Env = append(os.Environ(),
		"HTTPS_PROXY="+mirror.URL(), "https_proxy="+mirror.URL(),
		"NO_PROXY=localhost,127.0.0.1,"+host.TestRange, "no_proxy=localhost,127.0.0.1,"+host.TestRange,
		"SSL_CERT_FILE="+l.TrustBundle())
	if os.Getenv("KUBECONFIG") == "" {
		command.Env = append(command.Env, "KUBECONFIG="+l.Kubeconfig())
	}
	err = command.Run()
	if err != nil {
		err = fmt.Errorf("%s: %w", args[0], err)
	}
	return errors.Join(err, mirror.Stop(context.WithoutCancel(ctx)))
}
