// Package report tells the world how a pass over an object went: in the object's status, in the log and in events.
package report
