package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/hack/cluster/internal/cluster"
)

func up() *cobra.Command {
	var options cluster.Options
	command := &cobra.Command{
		Use:   "up",
		Short: "Bring the cluster up, or check the one that is up; prints the KUBECONFIG line",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, c, err := local()
			if err != nil {
				return err
			}
			if err := c.Up(cmd.Context(), options); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "export KUBECONFIG=%s\n", l.Kubeconfig())
			return nil
		},
	}
	command.Flags().BoolVar(&options.WithoutOLM, "without-olm", false, "leave OLM for somebody else to install")
	command.Flags().BoolVar(&options.WithSDK, "with-sdk", false, "also build operator-sdk and provide its scorecard's image")
	return command
}

func down() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster and remove every trace of it; tools, packages and images stay cached",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, c, err := local()
			if err != nil {
				return err
			}
			return c.Down(cmd.Context())
		},
	}
}

func env() *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Print the shell lines that point programs at the cluster and its registry",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, c, err := local()
			if err != nil {
				return err
			}
			if err := c.Running(); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "export KUBECONFIG=%s\nexport SSL_CERT_FILE=%s\n", l.Kubeconfig(), l.TrustBundle())
			return nil
		},
	}
}

func packages() *cobra.Command {
	return &cobra.Command{
		Use:   "packages",
		Short: "Install the Debian packages that are missing, as up does, and start nothing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, c, err := local()
			if err != nil {
				return err
			}
			return c.Packages(cmd.Context())
		},
	}
}

func tool() *cobra.Command {
	return &cobra.Command{
		Use:   "tool NAME...",
		Short: "Build the named tools unless they are there; prints their paths, one a line",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			_, c, err := local()
			if err != nil {
				return err
			}
			for _, name := range names {
				dir, err := c.Tool(cmd.Context(), name)
				if err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(dir, name))
			}
			return nil
		},
	}
}

func memcached() *cobra.Command {
	return &cobra.Command{
		Use:   "memcached",
		Short: "Download memcached of several Debian releases unless it is there; prints the folders that serve as MEMCACHED_ROOTS",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, c, err := local()
			if err != nil {
				return err
			}
			roots, err := c.Memcached(cmd.Context())
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), strings.Join(roots, ":"))
			return nil
		},
	}
}

func assets() *cobra.Command {
	return &cobra.Command{
		Use:   "assets",
		Short: "Build the kube binaries unless they are there; prints the folder that serves as KUBEBUILDER_ASSETS",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, c, err := local()
			if err != nil {
				return err
			}
			dir, err := c.Tool(cmd.Context(), "kube-apiserver")
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), dir)
			return nil
		},
	}
}
