package inputs

import (
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	lock  sync.Mutex
	asked time.Time
	known Features
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

func has(resources *metav1.APIResourceList, name string) bool {
	return resources != nil && slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == name })
}
