package monitoring

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/monitoring/manifest"
)

// timing contains the intervals of an Installer.
type timing struct {
	// check is the time between two checks of all objects.
	check time.Duration

	// retry is the time until the next check after a failure.
	retry time.Duration

	// attempt is the timeout of a check.
	attempt time.Duration
}

var usual = timing{check: 5 * time.Minute, retry: 30 * time.Second, attempt: 20 * time.Second}

// errForeign means that an object of that name belongs to someone else.
var errForeign = errors.New("it already exists and does not belong to the operator, so it is not changed: delete or rename it")

// errGone means that the CRD of a kind was removed since the last check, which is not a failure.
var errGone = errors.New("its CRD was removed")

// Installer installs the objects and keeps them in place.
type Installer struct {
	// Namespace is the operator's own namespace, empty outside a pod.
	Namespace string

	// Clock provides the timers.
	Clock clock.WithTicker

	live   client.Reader
	writer client.Writer
	mapper apimeta.RESTMapper
	logger logr.Logger
	timing timing
	failed map[string]string // The logged cause of failure, by object.
}

// SetUp adds the installer to a manager, to be run by the leader. Outside a pod it does nothing.
func (i *Installer) SetUp(mgr manager.Manager) error {
	if i.Namespace == "" {
		return nil
	}
	i.live, i.writer, i.mapper, i.logger = mgr.GetAPIReader(), mgr.GetClient(), mgr.GetRESTMapper(), mgr.GetLogger()
	i.failed = map[string]string{}
	if i.timing == (timing{}) {
		i.timing = usual
	}
	if err := mgr.Add(i); err != nil {
		return fmt.Errorf("add the installer of alerts and dashboards: %w", err)
	}
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*Installer) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (i *Installer) Start(ctx context.Context) error {
	all, err := manifest.Operator(i.Namespace)
	if err != nil {
		return err
	}
	for {
		pause := i.timing.check
		if !i.check(ctx, all) {
			pause = i.timing.retry
		}
		select {
		case <-ctx.Done():
			return nil
		case <-i.Clock.After(pause):
		}
	}
}

// check makes the cluster match the wanted objects. It returns false if a failure should be retried soon.
func (i *Installer) check(ctx context.Context, all []manifest.Wanted) bool {
	ctx, cancel := context.WithTimeout(ctx, i.timing.attempt)
	defer cancel()
	ok := true
	for _, wanted := range all {
		useful, err := i.known(wanted.For)
		if useful {
			err = i.install(ctx, wanted.Object.DeepCopy()) // The copy becomes what the API server returns.
		}
		i.note(wanted.Object, useful, err)
		ok = ok && (err == nil || errors.Is(err, errForeign) || errors.Is(err, errGone))
	}
	return ok
}

// known tells whether the cluster has at least one of the kinds.
func (i *Installer) known(kinds []schema.GroupVersionKind) (bool, error) {
	for _, kind := range kinds {
		_, err := i.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err == nil {
			return true, nil
		}
		if !apimeta.IsNoMatchError(err) {
			return false, fmt.Errorf("check whether the cluster has the kind %s: %w", kind.Kind, err)
		}
	}
	return false, nil
}

// install applies one object.
func (i *Installer) install(ctx context.Context, object *unstructured.Unstructured) error {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(object.GroupVersionKind())
	err := i.live.Get(ctx, client.ObjectKeyFromObject(object), found)
	options := []client.ApplyOption{client.FieldOwner(owned.Manager)}
	switch {
	case apierrors.IsNotFound(err): // Without force: the apply conflicts if another client creates the object now.
	case err != nil:
		return fmt.Errorf("read it: %w", err)
	case found.Labels[owned.LabelManagedBy] != owned.Manager:
		return errForeign
	case !found.DeletionTimestamp.IsZero():
		return nil
	default:
		options = append(options, client.ForceOwnership)
	}
	//nolint:forbidigo // These objects have no owner, which operator/kube/apply needs.
	if err := i.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), options...); err != nil {
		if apierrors.IsNotFound(err) {
			err = errGone
		}
		return fmt.Errorf("apply it: %w", err)
	}
	if found.UID == "" {
		i.logger.Info("Created monitoring object", "kind", object.GetKind(), "name", object.GetName())
	}
	return nil
}

// note logs each cause of a failure once, and the end of a failure.
func (i *Installer) note(object *unstructured.Unstructured, useful bool, err error) {
	name := object.GetKind() + " " + object.GetName()
	logger := i.logger.WithValues("kind", object.GetKind(), "name", object.GetName())
	switch {
	case err == nil:
		if useful && i.failed[name] != "" {
			logger.Info("Monitoring object installed after an earlier failure")
		}
		delete(i.failed, name)
	case errors.Is(err, context.Canceled), errors.Is(err, errGone):
	case i.failed[name] != err.Error():
		i.failed[name] = err.Error()
		logger.Info("Cannot install monitoring object; retrying", "cause", err.Error())
	}
}
