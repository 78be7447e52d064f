// Command rights compares the rights that the operator has with those that it uses in tests, by the audit logs of API servers.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/hack/internal/checkout"
	"github.com/example/memcached-operator/hack/project"
)

func main() {
	if command().Execute() != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	cmd := &cobra.Command{Use: "rights", Short: "Compare the rights of the operator with those that tests use", SilenceUsage: true}
	cmd.SetOut(os.Stdout)
	cmd.SetErrPrefix("rights:")
	cmd.AddCommand(&cobra.Command{
		Use:   "record LOG...",
		Short: "Add the rights in audit logs to " + recordFile + ", and fail if a request was denied",
		RunE:  func(cmd *cobra.Command, logs []string) error { return recordUsed(cmd, logs) },
	}, &cobra.Command{
		Use:   "check",
		Short: "Fail if the bundle grants a right that no test uses and nobody has explained",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return check(cmd) },
	})
	return cmd
}

func recordUsed(cmd *cobra.Command, logs []string) error {
	root, err := checkout.Root()
	if err != nil {
		return err
	}
	rights, denied, err := used(logs)
	if err != nil {
		return err
	}
	file := filepath.Join(root, recordFile)
	recorded, err := readRecord(file)
	if err != nil {
		return err
	}
	if added := recorded.add(rights); len(added) > 0 {
		cmd.Printf("added to %s, commit it:\n  %s\n", recordFile, strings.Join(added, "\n  "))
		if err := recorded.write(file); err != nil {
			return err
		}
	}
	grants, err := grantedBy(root)
	if err != nil {
		return err
	}
	// What is granted is denied while OLM installs or removes the operator: roles go before its pod has ended.
	denied = slices.DeleteFunc(denied, func(refused string) bool {
		return slices.ContainsFunc(grants, func(g right) bool { return refused == g.String() || refused == g.String()+ownNamespace })
	})
	if len(denied) > 0 {
		return fmt.Errorf("the operator, or OLM v1 that installs it, was denied what it asked for:\n  %s", strings.Join(denied, "\n  "))
	}
	cmd.Printf("the operator used %d rights, and was denied none\n", len(rights))
	return nil
}

// grantedBy returns the rights that the bundle of the version under development gives the operator.
func grantedBy(root string) ([]right, error) {
	content, err := os.ReadFile(filepath.Join(root, project.BundleDir(project.Version), project.CSVFile))
	if err != nil {
		return nil, err
	}
	csv := &v1alpha1.ClusterServiceVersion{}
	if err := yaml.Unmarshal(content, csv); err != nil {
		return nil, err
	}
	return granted(csv), nil
}

func check(cmd *cobra.Command) error {
	root, err := checkout.Root()
	if err != nil {
		return err
	}
	recorded, err := readRecord(filepath.Join(root, recordFile))
	if err != nil {
		return err
	}
	rights, err := grantedBy(root)
	if err != nil {
		return err
	}
	if err := recorded.compare(rights); err != nil {
		return err
	}
	cmd.Printf("granted minus used: %d of %d rights, each explained\n", len(recorded.explained()), len(rights))
	for _, unused := range recorded.Unused {
		cmd.Printf("%s:\n  %s\n", unused.Reason, strings.Join(unused.Rights, "\n  "))
	}
	return nil
}
