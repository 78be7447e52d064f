package reconcileerror_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/memcached-operator/operator/kube/reconcileerror"
)

func TestRefused(t *testing.T) {
	services := schema.GroupResource{Resource: "services"}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("connection reset"), false},
		{apierrors.NewForbidden(services, "cache", errors.New("exceeded quota")), true},
		{fmt.Errorf("apply: %w", apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "cache", nil)), true},
		{apierrors.NewBadRequest("denied the request"), true},
		{&apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Message: "denied the request"}}, true},
		{apierrors.NewRequestEntityTooLargeError("denied request"), true},
		{apierrors.NewUnauthorized("Unauthorized"), false}, // The token has expired, for example.
		{apierrors.NewConflict(services, "cache", errors.New("changed")), false},
		{apierrors.NewNotFound(services, "cache"), false},
		{apierrors.NewTooManyRequests("later", 1), false},
		{apierrors.NewInternalError(errors.New("failed calling webhook")), false},
	} {
		if got := reconcileerror.Refused(c.err); got != c.want {
			t.Errorf("%v is refused: %t", c.err, got)
		}
	}
}
