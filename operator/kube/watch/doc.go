// Package watch decides which objects a change concerns, and how soon they are looked at. Which kinds are watched stands
// in each controller.
package watch
