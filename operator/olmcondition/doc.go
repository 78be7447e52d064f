// Package operatorcondition tells the Operator Lifecycle Manager (OLM) whether this operator may be upgraded now, in the
// condition Upgradeable of the OperatorCondition that OLM makes for each installed version
// (https://olm.operatorframework.io/docs/advanced-tasks/communicating-operator-conditions-to-olm/). Outside OLM there is
// no such object, and nothing here runs.
//
//   - Assess decides, and is pure: facts in, status, reason and message out.
//   - Tracker remembers what is under way. It lives in memory: an operator that starts anew begins with nothing, because
//     what Kubernetes has begun goes on without it.
//   - Pass is the one rule by which a reconcile begins and ends work.
//   - Reporter writes. OLM grants get, update and patch on that one object, and neither list nor watch, so it never goes
//     through a cache, and looks once a minute whether its word still stands.
//
// OLM reads spec.conditions of version v2 and takes a missing entry in them for a yes, but a removed one that said no goes
// on blocking. So there is always an entry, True or False, from before the operator turns ready, and it is never removed.
package olmcondition
