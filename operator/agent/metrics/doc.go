// Package starts tells how memcached started: warm, with the items of before, or cold, with none. It derives that from
// what memcached says of itself; nothing in memcached reports it.
//
// What can be known, and what cannot (seen with 1.6.18 and 1.6.45):
//
//   - A memcached that restored items counts them in total_items, but no store for each: what total_items has more than
//     stores were asked for was restored. That number is exact right after the start, and later a lower bound, because
//     stores that failed count as asked for, too. One thing spoils it: items that the meta get command makes by itself
//     (mg with the flag N) count as restored, if memcached was started with a memory file.
//   - Without a memory file (-e), every start is cold.
//   - A warm start of a memcached that had no items looks like a cold one, and is counted as one: no item was kept.
//   - uptime goes on across a warm start, and in a process namespace of its own memcached always has the ID 1. So a start
//     is seen by another process ID, less processor time, or less uptime than before: none of them is touched by
//     memcached's "stats reset". What is missed is a warm start of a memcached that had hardly done anything, in a process
//     namespace of its own.
//   - When a warm start was is not told: uptime goes on. It is dated when it is first seen.
//   - Two starts between two looks count as one.
//   - Items before the start are those of the last look, not of the moment when memcached stopped.
package metrics
