// Package outcome gives the errors of a reconcile their meaning, and maps them in one place to what happens next. It is
// pure: it looks at errors and nothing else.
package reconcileerror
