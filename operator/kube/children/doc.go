// Package observe reads: the objects that desired state is computed from, and the children that status is computed
// from. It never writes, and draws no conclusions.
package children
