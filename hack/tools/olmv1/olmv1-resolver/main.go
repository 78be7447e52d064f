// Command olmv1-resolver asks the resolver of OLM v1 what it would install. It reads requests from standard input, one JSON object in each
// line, and writes an answer in a line for each, so that tests can compare many catalogs in one run.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocv1 "github.com/operator-framework/operator-controller/api/v1"
	"github.com/operator-framework/operator-controller/internal/operator-controller/resolve"
)

// request is what a ClusterExtension asks for.
type request struct {
	// Catalog is a file-based catalog in YAML or JSON.
	Catalog string
	// Package is the name of the package.
	Package string
	// Name and Version are those of the installed bundle.
	Name, Version string
	// Channels are the channels to follow, none for all.
	Channels []string
	// Pin is a version or a range of versions, empty for any.
	Pin string
	// Force ignores the edges of the catalog.
	Force bool
}

// answer has either the name of the bundle to install or an error.
type answer struct {
	Bundle string
	Error  string
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "olmv1-resolver:", err)
		os.Exit(1)
	}
}

func run() error {
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	out := bufio.NewWriter(os.Stdout)
	for in.More() {
		var r request
		if err := in.Decode(&r); err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		if err := json.NewEncoder(out).Encode(ask(context.Background(), r)); err != nil {
			return err
		}
	}
	return out.Flush()
}

func ask(ctx context.Context, r request) answer {
	// The resolver changes the catalog that it gets.
	catalog, err := declcfg.LoadReader(strings.NewReader(r.Catalog))
	if err != nil {
		return answer{Error: err.Error()}
	}
	resolver := resolve.CatalogResolver{WalkCatalogsFunc: func(ctx context.Context, _ string, walk resolve.CatalogWalkFunc, _ ...client.ListOption) error {
		return walk(ctx, &ocv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: "catalog"}}, catalog, nil)
	}}
	source := &ocv1.CatalogFilter{PackageName: r.Package, Channels: r.Channels, Version: r.Pin}
	if r.Force {
		source.UpgradeConstraintPolicy = ocv1.UpgradeConstraintPolicySelfCertified
	}
	extension := &ocv1.ClusterExtension{Spec: ocv1.ClusterExtensionSpec{Source: ocv1.SourceConfig{SourceType: ocv1.SourceTypeCatalog, Catalog: source}}}
	bundle, _, _, err := resolver.Resolve(ctx, extension, &ocv1.BundleMetadata{Name: r.Name, Version: r.Version})
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Bundle: bundle.Name}
}
