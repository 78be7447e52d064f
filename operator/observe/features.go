package observe

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"

	"github.com/example/memcached-operator/operator/monitoring/manifest"
	"github.com/example/memcached-operator/operator/scope"
)

// featuresAge is how long what the cluster can do is taken as known. A cluster learns of new kinds while it runs.
const featuresAge = 5 * time.Minute

// Features finds out what the cluster can do, and remembers it for some minutes.
type Features struct {
	// Discovery asks the API server.
	Discovery discovery.DiscoveryInterface

	// Clock tells when to ask again.
	Clock clock.PassiveClock

	lock  sync.Mutex
	asked time.Time
	known scope.Features
}

// Get returns what the cluster can do.
func (f *Features) Get(context.Context) (scope.Features, error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	now := f.Clock.Now()
	if !f.asked.IsZero() && now.Sub(f.asked) < featuresAge {
		return f.known, nil
	}
	var known scope.Features
	for _, look := range []struct {
		groupVersion, resource string
		found                  *bool
	}{
		{"v1", "pods/resize", &known.Resize},
		{manifest.ServiceMonitorKind.GroupVersion().String(), "servicemonitors", &known.ServiceMonitors},
	} {
		resources, err := f.Discovery.ServerResourcesForGroupVersion(look.groupVersion)
		if err != nil && !apierrors.IsNotFound(err) {
			return scope.Features{}, fmt.Errorf("ask what the cluster can do: %w", err)
		}
		*look.found = has(resources, look.resource)
	}
	f.known, f.asked = known, now
	return known, nil
}

func has(resources *metav1.APIResourceList, name string) bool {
	if resources == nil {
		return false
	}
	for i := range resources.APIResources {
		if resources.APIResources[i].Name == name {
			return true
		}
	}
	return false
}
