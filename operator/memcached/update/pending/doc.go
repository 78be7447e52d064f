// Package hold decides which pod template a running cache gets: the one that is wanted, or the one it has, when the
// difference would lose items and the user has not asked for it. It is pure.
//
// The user's own changes never wait: they are told from the operator's by rendering the spec of before and the spec of now
// with the same code. What the operator alone wants is made at once if it keeps the items (live and warm changes of a
// StatefulSet), and otherwise waits until it is released, by its id, for which the policy can stand in. A change of the
// user's that loses the items anyway takes with it what waits.
//
// Three templates play a part: the one that runs, the one that is wanted, and milder ones in between, which take over what
// can be had without a loss. What is left to the wanted one is pending.
package pending
