package reconcileerror

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// Refused reports whether the API server, an admission policy or webhook, or a quota has refused a request. It would refuse the same request
// again: somebody has to change the policy, the quota, or what is asked for.
//
// The reason of a policy is Forbidden, Invalid or RequestEntityTooLarge. See
// https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy.
func Refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
}
