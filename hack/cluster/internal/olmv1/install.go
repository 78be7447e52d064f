package olmv1

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/hack/cluster/internal/controlplane"
	"github.com/example/memcached-operator/hack/cluster/internal/host"
)

// files are OLM v1's objects that need no change, in the folder of its Go module.
var files = []string{
	"config/base/catalogd/crd/bases/olm.operatorframework.io_clustercatalogs.yaml",
	"config/base/operator-controller/crd/bases/olm.operatorframework.io_clusterextensions.yaml",
}

// webhooks is the file of the webhook that labels ClusterCatalogs with their names.
const webhooks = "config/webhook/manifests.yaml"

const applyTimeout = 30 * time.Second

// Install applies OLM v1's objects, and prepares the folders of its programs. module is the folder of its Go module.
func Install(ctx context.Context, client *controlplane.Client, l host.Layout, module string) error {
	authority, err := os.ReadFile(l.PKI("ca.crt"))
	if err != nil {
		return fmt.Errorf("read the cluster's certificate authority: %w", err)
	}
	if err := host.WriteFile(filepath.Join(authorities(l), "ca.crt"), authority, host.Public); err != nil {
		return err
	}
	objects, err := Objects(module, authority)
	if err != nil {
		return err
	}
	for _, object := range objects {
		err := controlplane.Until(ctx, applyTimeout, func(ctx context.Context) error { return client.Apply(ctx, object) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Objects returns OLM v1's objects, for programs that run beside the cluster: without Deployments, Services and roles. module is the
// folder of its Go module, authority the certificate that the API server trusts for webhooks, as PEM.
func Objects(module string, authority []byte) ([]*unstructured.Unstructured, error) {
	space := &unstructured.Unstructured{}
	space.SetAPIVersion("v1")
	space.SetKind("Namespace")
	space.SetName(namespace)
	objects := []*unstructured.Unstructured{space}
	for _, file := range append(files, webhooks) {
		object, err := read(filepath.Join(module, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		if object.GetKind() == "MutatingWebhookConfiguration" {
			object.SetName("catalogd-mutating-webhook-configuration")
			if err := callBeside(object, authority); err != nil {
				return nil, err
			}
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func read(file string) (*unstructured.Unstructured, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read an object of OLM v1: %w", err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(content, object); err != nil {
		return nil, fmt.Errorf("read %s of OLM v1: %w", file, err)
	}
	return object, nil
}

// callBeside makes webhooks call the program beside the cluster instead of a Service in it.
func callBeside(configuration *unstructured.Unstructured, authority []byte) error {
	list, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return fmt.Errorf("read the webhooks of OLM v1: %w", err)
	}
	for _, item := range list {
		webhook, _ := item.(map[string]any)
		path, _, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
		if err != nil || path == "" {
			return fmt.Errorf("a webhook of OLM v1 calls no Service: %v %w", webhook["name"], err)
		}
		webhook["clientConfig"] = map[string]any{
			"url":      "https://localhost:" + host.CatalogdWebhookPort + path,
			"caBundle": base64.StdEncoding.EncodeToString(authority),
		}
	}
	return unstructured.SetNestedSlice(configuration.Object, list, "webhooks")
}
