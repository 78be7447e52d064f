package inputs

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"

	"github.com/example/memcached-operator/operator/monitoring/manifest"
)

// featuresAge is how long what the cluster can do is taken as known. A cluster learns of new kinds while it runs.
const featuresAge = 5 * time.Minute

// shrinks is the version from which on the memory limit of a running pod can be made less; before, pods/resize refuses that
// (kubernetes/kubernetes pull requests 130183 and 133012).
var shrinks = version.MajorMinor(1, 34)

// FeatureReader asks what the cluster can do, and remembers the answer for some minutes.
type FeatureReader struct {
	// Discovery asks the API server.
	Discovery discovery.DiscoveryInterface

	// Clock tells when to ask again.
	Clock clock.PassiveClock

	lock   sync.Mutex
	asked  time.Time
	known  Features
	limits limits
}

// limits is what was read of ServiceMonitors.
type limits struct {
	url      string // Of the schemas, with their hash; empty if none were read.
	declared bool
}

// Get returns what the cluster can do.
func (f *FeatureReader) Get() (Features, error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	now := f.Clock.Now()
	if !f.asked.IsZero() && now.Sub(f.asked) < featuresAge {
		return f.known, nil
	}
	var known Features
	for _, look := range []struct {
		groupVersion, resource string
		found                  *bool
	}{
		{"v1", "pods/resize", &known.Resize},
		{manifest.ServiceMonitorKind.GroupVersion().String(), "servicemonitors", &known.ServiceMonitors},
	} {
		resources, err := f.Discovery.ServerResourcesForGroupVersion(look.groupVersion)
		if err != nil && !apierrors.IsNotFound(err) {
			return Features{}, fmt.Errorf("ask what the cluster can do: %w", err)
		}
		*look.found = has(resources, look.resource)
	}
	if known.Resize {
		var err error
		if known.Shrink, err = f.atLeast(shrinks); err != nil {
			return Features{}, err
		}
	}
	if known.ServiceMonitors {
		var err error
		known.ScrapeLimits, err = f.scrapeLimits()
		known.ServiceMonitors = err == nil // Caches must not wait for it.
	}
	f.known, f.asked = known, now
	return known, nil
}

// atLeast tells whether the API server is of a version or a later one.
func (f *FeatureReader) atLeast(wanted *version.Version) (bool, error) {
	info, err := f.Discovery.ServerVersion()
	if err != nil {
		return false, fmt.Errorf("ask which version the cluster has: %w", err)
	}
	has, err := version.ParseGeneric(info.GitVersion)
	if err != nil {
		return false, fmt.Errorf("the version of the cluster: %w", err)
	}
	return has.AtLeast(wanted), nil
}

// scrapeLimits tells whether the schema of ServiceMonitors has the newest of the limits that a ServiceMonitor sets. What was read stays
// known until something else is read: otherwise an API server that does not answer would take the limits away. The error says that nothing
// is known.
func (f *FeatureReader) scrapeLimits() (bool, error) {
	err := f.readLimits()
	if f.limits.url != "" || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) { // Known, or the API server tells nobody.
		err = nil
	}
	return f.limits.declared, err
}

// readLimits reads the schema of ServiceMonitors, unless that was done before.
func (f *FeatureReader) readLimits() error {
	paths, err := f.Discovery.OpenAPIV3().Paths()
	group, published := paths["apis/"+manifest.ServiceMonitorKind.GroupVersion().String()]
	if err != nil || !published || group.ServerRelativeURL() == f.limits.url {
		return err
	}
	raw, err := group.Schema(runtime.ContentTypeJSON)
	if err != nil {
		return err
	}
	var schemas struct { // No more than is asked for: all schemas of the group have megabytes.
		Components struct {
			Schemas map[string]struct {
				Kinds      []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
				Properties struct {
					Spec struct{ Properties map[string]struct{} }
				}
			}
		}
	}
	if err := json.Unmarshal(raw, &schemas); err != nil {
		return err
	}
	f.limits = limits{url: group.ServerRelativeURL()}
	for _, kind := range schemas.Components.Schemas {
		if _, found := kind.Properties.Spec.Properties[manifest.NewestLimit]; found && slices.Contains(kind.Kinds, manifest.ServiceMonitorKind) {
			f.limits.declared = true
		}
	}
	return nil
}

func has(resources *metav1.APIResourceList, name string) bool {
	return resources != nil && slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == name })
}
