// Package olmcondition tells the Operator Lifecycle Manager (OLM) whether the operator may be upgraded now. It maintains the
// condition Upgradeable of the OperatorCondition that OLM creates for each installed version
// (https://olm.operatorframework.io/docs/advanced-tasks/communicating-operator-conditions-to-olm/). Without OLM, there is no
// such object, and nothing in this package runs.
//
//   - Assess is a pure function from what is known of all objects to status, reason and message.
//   - Tracker stores what the last reconcile of each object found out. A new leader knows nothing, and says False until it has
//     reconciled every object that existed when it started. An object that cannot be reconciled blocks for five minutes at most.
//   - Reconcile is the rule by which a reconcile tells whether the operator itself replaces pods. Objects in the cluster say so, the
//     records of a Memcached and the annotation cache.example.com/rendering on the Deployment of an Application, so neither a new
//     leader nor a lost answer changes the result. Equal specs mean that only the operator wanted another pod template. If the user
//     changes the spec during a rollout by the operator, and pods change with it, the rollout becomes the user's: the pods are replaced
//     for the new spec anyway. If pods do not change with it, for example another size, the rollout stays the operator's. What somebody
//     changes in a workload and the operator puts back is no rollout by the operator.
//   - Reporter writes the condition. OLM grants get, update and patch for this one object, but neither list nor watch, so
//     the Reporter does not use a cache, and checks once a minute whether the condition is still there.
//
// OLM reads spec.conditions of version v2. A missing condition allows an upgrade, but removing one that was False keeps
// blocking. The operator therefore sets the condition, True or False, before it becomes ready, and never removes it.
package olmcondition
