package olm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/memcached-operator/hack/cluster/internal/controlplane"
)

// namespace is the namespace of OLM.
const namespace = "olm"

const (
	applyTimeout   = 30 * time.Second
	succeedTimeout = 5 * time.Minute
)

var (
	crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	csvs = schema.GroupVersionResource{Group: "operators.coreos.com", Version: "v1alpha1", Resource: "clusterserviceversions"}
)

// Install applies the CRDs and then the other objects. It tries each again until the API server knows its kind.
func Install(ctx context.Context, client *controlplane.Client, manifests Manifests) error {
	for _, object := range slices.Concat(manifests.CRDs, manifests.Objects) {
		err := controlplane.Until(ctx, applyTimeout, func(ctx context.Context) error { return client.Apply(ctx, object) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Working returns nil when the CSV packageserver has succeeded: OLM itself installs it, as the last part of OLM.
func Working(ctx context.Context, client *controlplane.Client) error {
	csv, err := client.Get(ctx, csvs, namespace, "packageserver")
	if err != nil {
		return err
	}
	phase, _, err := unstructured.NestedString(csv.Object, "status", "phase")
	if err != nil {
		return fmt.Errorf("read the phase of packageserver: %w", err)
	}
	if phase != "Succeeded" {
		message, _, _ := unstructured.NestedString(csv.Object, "status", "message")
		return fmt.Errorf("the ClusterServiceVersion packageserver is in phase %q: %s", phase, message)
	}
	return nil
}

// Await waits until OLM works.
func Await(ctx context.Context, client *controlplane.Client) error {
	err := controlplane.Until(ctx, succeedTimeout, func(ctx context.Context) error { return Working(ctx, client) })
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("OLM does not come up: %w (see kubectl -n %s get pods,events)", err, namespace)
	}
	return err
}

// Installed reports whether the cluster has OLM's CRDs, also if another program installed them.
func Installed(ctx context.Context, client *controlplane.Client) bool {
	_, err := client.Get(ctx, crds, "", "clusterserviceversions.operators.coreos.com")
	return err == nil
}
