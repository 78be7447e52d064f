package timeline

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kinds are those that are shown, where the cluster has them.
var kinds = []schema.GroupVersionKind{
	{Group: "cache.example.com", Version: "v1alpha1", Kind: "Memcached"},
	{Group: "app.example.com", Version: "v1alpha1", Kind: "Application"},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Version: "v1", Kind: "Pod"},
	{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
	{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "CatalogSource"},
	{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "Subscription"},
	{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "InstallPlan"},
	{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "ClusterServiceVersion"},
	{Group: "operators.coreos.com", Version: "v2", Kind: "OperatorCondition"},
}

// Watcher writes a line for each change.
type Watcher struct {
	Client client.WithWatch

	// Namespaces are those that are watched.
	Namespaces []string

	// Out takes the lines.
	Out io.Writer

	// Start is the time that the lines count from.
	Start time.Time

	// Until tells whether an object is the last one to wait for; nil to wait for the end of the context.
	Until func(*unstructured.Unstructured) bool
}

// seen is an object of a watch.
type seen struct {
	kind watch.EventType
	*unstructured.Unstructured
}

// Run watches, and calls act when all watches are open. It ends with what Until waits for, or with the context.
func (w *Watcher) Run(ctx context.Context, act func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	all := make(chan seen)
	for _, kind := range kinds {
		for _, namespace := range w.Namespaces {
			if err := w.follow(ctx, group, kind, namespace, all); err != nil {
				return err
			}
		}
	}
	if err := act(ctx); err != nil {
		return err
	}
	known := map[types.UID]map[string]string{}
	for {
		select {
		case <-ctx.Done():
			stop()
			return group.Wait()
		case now := <-all:
			w.show(known, now)
			if w.Until != nil && w.Until(now.Unstructured) {
				stop()
				return group.Wait()
			}
		}
	}
}

// follow watches a kind in a namespace from now on.
func (w *Watcher) follow(ctx context.Context, group *errgroup.Group, kind schema.GroupVersionKind, namespace string, to chan<- seen) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	if err := w.Client.List(ctx, list, client.InNamespace(namespace), client.Limit(1)); apimeta.IsNoMatchError(err) {
		return nil // The cluster has no such objects.
	} else if err != nil {
		return fmt.Errorf("list the objects of the kind %s in %s: %w", kind.Kind, namespace, err)
	}
	from := client.InNamespace(namespace)
	watching, err := w.Client.Watch(ctx, list, from)
	if err != nil {
		return fmt.Errorf("watch the objects of the kind %s in %s: %w", kind.Kind, namespace, err)
	}
	group.Go(func() error {
		defer watching.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case event, open := <-watching.ResultChan():
				object, ok := event.Object.(*unstructured.Unstructured)
				if !open || !ok {
					return fmt.Errorf("the watch of the kind %s in %s has ended: %v", kind.Kind, namespace, event.Object)
				}
				select {
				case to <- seen{event.Type, object}:
				case <-ctx.Done():
				}
			}
		}
	})
	return nil
}

// show writes what is new about an object. What was there before the start is not new.
func (w *Watcher) show(known map[types.UID]map[string]string, now seen) {
	before, found := known[now.GetUID()]
	current := facts(now.Unstructured)
	known[now.GetUID()] = current
	says := changes(before, current)
	switch {
	case now.kind == watch.Deleted:
		says = []string{"is gone"}
	case !found && now.GetCreationTimestamp().Add(time.Second).Before(w.Start):
		return
	case !found:
		says = append([]string{"exists"}, says...)
	case len(says) == 0:
		return
	}
	_, _ = fmt.Fprintf(w.Out, "| %.2f | %s %s | %s |\n", time.Since(w.Start).Seconds(), now.GetKind(), now.GetName(), strings.Join(says, "; "))
}
