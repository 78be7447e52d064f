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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/example/memcached-operator/operator/kube/owned"
	"github.com/example/memcached-operator/operator/monitoring/manifest"
)

// timing is how often things are done.
type timing struct {
	// look is the time between two looks whether everything is there.
	look time.Duration

	// retry is the time until the next look after something has failed.
	retry time.Duration

	// attempt is how long a look may take.
	attempt time.Duration
}

var usual = timing{look: 5 * time.Minute, retry: 30 * time.Second, attempt: 20 * time.Second}

// errForeign says that a name is taken.
var errForeign = errors.New("it exists already and was not made by the operator, so it is left alone: delete or rename it")

// errGone says that the kind of an object was removed from the cluster since it was last asked for. That is no failure.
var errGone = errors.New("its kind is gone")

// Installer keeps the objects in place.
type Installer struct {
	// Namespace is the operator's own, empty outside a pod.
	Namespace string

	// Clock paces the looks.
	Clock clock.WithTicker

	live   client.Reader
	writer client.Writer
	mapper apimeta.RESTMapper
	logger logr.Logger
	timing timing
	told   map[string]string // What is known to fail, by object: the cause that was logged.
}

// SetUp adds the installer to a manager, for the leader to run. Outside a pod it adds nothing.
func (i *Installer) SetUp(mgr manager.Manager) error {
	if i.Namespace == "" {
		return nil
	}
	i.live, i.writer, i.mapper, i.logger = mgr.GetAPIReader(), mgr.GetClient(), mgr.GetRESTMapper(), mgr.GetLogger()
	i.told = map[string]string{}
	if i.timing == (timing{}) {
		i.timing = usual
	}
	if err := mgr.Add(i); err != nil {
		return fmt.Errorf("add what installs alerts and dashboards: %w", err)
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
		pause := i.timing.look
		if !i.look(ctx, all) {
			pause = i.timing.retry
		}
		select {
		case <-ctx.Done():
			return nil
		case <-i.Clock.After(pause):
		}
	}
}

// look makes the cluster agree with what is wanted. It tells whether nothing failed that may pass soon.
func (i *Installer) look(ctx context.Context, all []manifest.Wanted) bool {
	ctx, cancel := context.WithTimeout(ctx, i.timing.attempt)
	defer cancel()
	fine := true
	for _, wanted := range all {
		useful, err := i.known(wanted.For)
		if useful {
			err = i.install(ctx, wanted.Object)
		}
		i.note(wanted.Object, useful, err)
		fine = fine && (err == nil || errors.Is(err, errForeign) || errors.Is(err, errGone))
	}
	return fine
}

// known tells whether the cluster knows one of the kinds.
func (i *Installer) known(kinds []schema.GroupVersionKind) (bool, error) {
	for _, kind := range kinds {
		_, err := i.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err == nil {
			return true, nil
		}
		if !apimeta.IsNoMatchError(err) {
			return false, fmt.Errorf("ask whether the cluster knows the kind %s: %w", kind.Kind, err)
		}
	}
	return false, nil
}

// install makes one object what it should be.
func (i *Installer) install(ctx context.Context, wanted *manifest.Object) error {
	object, err := wanted.Unstructured()
	if err != nil {
		return err
	}
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(object.GroupVersionKind())
	err = i.live.Get(ctx, client.ObjectKeyFromObject(object), found)
	options := []client.ApplyOption{client.FieldOwner(owned.Manager)}
	switch {
	case apierrors.IsNotFound(err): // Without force: should somebody else create it now, the apply conflicts.
	case err != nil:
		return fmt.Errorf("read it: %w", err)
	case found.Labels[owned.LabelManagedBy] != owned.Manager:
		return errForeign
	case !found.DeletionTimestamp.IsZero():
		return nil
	default:
		options = append(options, client.ForceOwnership)
	}
	//nolint:forbidigo // These objects have no owner, without which operator/apply writes nothing.
	if err := i.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), options...); err != nil {
		if apierrors.IsNotFound(err) {
			err = errGone
		}
		return fmt.Errorf("apply it: %w", err)
	}
	if found.UID == "" {
		i.logger.Info("Created for monitoring", "kind", object.GetKind(), "name", object.GetName())
	}
	return nil
}

// note logs what fails, each cause once, and when it no longer does.
func (i *Installer) note(object *manifest.Object, useful bool, err error) {
	name := *object.GetKind() + " " + *object.GetName()
	logger := i.logger.WithValues("kind", *object.GetKind(), "name", *object.GetName())
	switch {
	case err == nil:
		if useful && i.told[name] != "" {
			logger.Info("Monitoring has this object after all")
		}
		delete(i.told, name)
	case errors.Is(err, context.Canceled), errors.Is(err, errGone):
	case i.told[name] != err.Error():
		i.told[name] = err.Error()
		logger.Info("Monitoring lacks this object; trying again", "cause", err.Error())
	}
}
