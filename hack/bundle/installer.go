package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/hack/internal/bundle"
)

// installerFile is the manifest with the rights of OLM v1, relative to the root of the checkout.
const installerFile = "olm/v1/20-installer.yaml"

const installerHeader = `# The ServiceAccount with which OLM v1 installs the operator, and its rights: what the bundles of all releases need, and nothing else.
# Written by ` + "`make bundle`" + `.
`

// writeInstaller writes the rights that all bundles of the checkout need.
func writeInstaller(cmd *cobra.Command, root string) error {
	content, err := installer(root)
	if err != nil {
		return err
	}
	file := filepath.Join(root, filepath.FromSlash(installerFile))
	if have, err := os.ReadFile(file); err == nil && bytes.Equal(have, content) {
		return nil
	}
	cmd.Println("wrote", installerFile)
	return os.WriteFile(file, content, 0o644)
}

// checkInstaller returns an error if the manifest is not what writeInstaller writes.
func checkInstaller(root string) error {
	content, err := installer(root)
	if err != nil {
		return err
	}
	have, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(installerFile)))
	if err == nil && !bytes.Equal(have, content) {
		err = fmt.Errorf("%s differs from what the bundles need", installerFile)
	}
	return err
}

// installer returns the content of the manifest.
func installer(root string) ([]byte, error) {
	dirs, err := filepath.Glob(filepath.Join(root, "bundles", "v*")) // Sorted.
	if err != nil {
		return nil, err
	}
	var bundles []*manifests.Bundle
	for _, dir := range dirs {
		content, err := manifests.GetBundleFromDir(dir)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read as a bundle: %w", dir, err)
		}
		bundles = append(bundles, content)
	}
	objects, err := bundle.Installer(bundles...)
	if err != nil {
		return nil, err
	}
	out := bytes.NewBufferString(installerHeader)
	for _, object := range objects {
		document, err := bundle.Encode(object)
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n")
		out.Write(document)
	}
	return out.Bytes(), nil
}
