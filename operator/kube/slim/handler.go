package slim

import (
	"errors"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// informer gives its handlers whole objects.
type informer struct {
	cache.Informer
}

// AddEventHandler adds a handler.
func (i informer) AddEventHandler(to toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandler(handler{to})
}

// AddEventHandlerWithResyncPeriod adds a handler.
func (i informer) AddEventHandlerWithResyncPeriod(
	to toolscache.ResourceEventHandler, period time.Duration,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandlerWithResyncPeriod(handler{to}, period)
}

// AddEventHandlerWithOptions adds a handler.
func (i informer) AddEventHandlerWithOptions(
	to toolscache.ResourceEventHandler, options toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandlerWithOptions(handler{to}, options)
}

// handler hands whole objects to another one.
type handler struct {
	to toolscache.ResourceEventHandler
}

// OnAdd handles an object that is new, or new to the cache.
func (h handler) OnAdd(object any, isInInitialList bool) {
	if whole, err := unpacked(object); reported(err) {
		h.to.OnAdd(whole, isInInitialList)
	}
}

// OnUpdate handles a change of an object.
func (h handler) OnUpdate(before, now any) {
	wholeBefore, errBefore := unpacked(before)
	wholeNow, errNow := unpacked(now)
	if reported(errors.Join(errBefore, errNow)) {
		h.to.OnUpdate(wholeBefore, wholeNow)
	}
}

// OnDelete handles the deletion of an object, whose last state may not be known.
func (h handler) OnDelete(object any) {
	var err error
	if tombstone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		tombstone.Obj, err = unpacked(tombstone.Obj)
		object = tombstone
	} else {
		object, err = unpacked(object)
	}
	if reported(err) {
		h.to.OnDelete(object)
	}
}

// reported reports an error, which only a defect can cause, and returns whether there is none.
func reported(err error) bool {
	if err != nil {
		utilruntime.HandleError(err)
	}
	return err == nil
}
