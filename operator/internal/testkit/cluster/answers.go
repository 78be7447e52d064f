package cluster

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// newClient returns a client without a cache that does what users do if the API server of a busy machine does not answer in time: it tries
// again, for two minutes. The request may have been carried out nevertheless, so a create looks for its object first. Updates, writes of
// subresources and creates without a name are not tried again: they could have an effect twice, or fail because they had one.
func newClient(config *rest.Config) (client.Client, error) {
	inner, err := client.NewWithWatch(config, client.Options{Scheme: Scheme})
	if err != nil {
		return nil, err
	}
	return interceptor.NewClient(inner, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			return untilAnswered(func(bool) error { return c.Get(ctx, key, object, options...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return untilAnswered(func(bool) error { return c.List(ctx, list, options...) })
		},
		Create: create,
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return untilAnswered(func(bool) error { return c.Patch(ctx, object, patch, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return untilAnswered(func(again bool) error {
				err := c.Delete(ctx, object, options...)
				if again && apierrors.IsNotFound(err) {
					return nil // The request before has deleted it.
				}
				return err
			})
		},
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteAllOfOption) error {
			return untilAnswered(func(bool) error { return c.DeleteAllOf(ctx, object, options...) })
		},
	}), nil
}

// create creates an object. If it does not get an answer, the object that it looks for must have the labels that it sent and must not be about
// to be deleted: an object from before, or of somebody else, is in the way as it is without the repetition.
func create(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
	if object.GetName() == "" {
		return c.Create(ctx, object, options...)
	}
	return untilAnswered(func(again bool) error {
		err := c.Create(ctx, object, options...)
		if !again || !apierrors.IsAlreadyExists(err) {
			return err
		}
		sent := labels.SelectorFromSet(object.GetLabels())
		if getErr := c.Get(ctx, client.ObjectKeyFromObject(object), object); getErr != nil {
			return fmt.Errorf("look for what a create without an answer has created: %w", getErr)
		}
		if object.GetDeletionTimestamp() != nil || !sent.Matches(labels.Set(object.GetLabels())) {
			return err
		}
		return nil
	})
}

// untilAnswered does something until the API server answers in time, for two minutes at most. It says whether it was done before.
func untilAnswered(do func(again bool) error) error {
	end := time.Now().Add(busy)
	err := do(false)
	for apierrors.IsTimeout(err) && time.Now().Before(end) {
		err = do(true)
	}
	return err
}
