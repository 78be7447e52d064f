// Package entry is how a container runs memcached so that its items outlive a restart in the same pod: what the container
// executes, and what it executes before it is stopped. Both are POSIX shell, because the official images hold nothing else
// (dash and coreutils, or busybox), and need no more of them than sh, sleep, rm and touch.
//
// With -e <memory file> memcached keeps its items in that file, and when it ends by SIGUSR1 it writes what it has to know
// of them into <memory file>.meta. The next one reads that and removes it. Measured with memcached 1.6.18, 1.6.38 and 1.6.45:
//
//   - An empty .meta, and one whose first line is none that memcached knows, aborts it (exit status 134) and stays, so it
//     aborts every next one, too. A .meta that ends within a line makes memcached read and write beyond its memory: it aborts,
//     or starts empty, or, when the last digits of the last line are missing, starts with all items and broken pointers
//     to them. One that ends at the end of a line is harmless: memcached misses lines, removes it and starts empty.
//   - A memcached that is killed leaves no .meta and starts empty. One that is killed while it saves leaves at most an empty
//     .meta, because the lines are written all at once; when they are there, everything is saved.
//   - A memcached that ends because it cannot read its certificate or its users, or because it cannot be executed, leaves
//     .meta as it was: once that is fixed, all items are back. So a start that failed says nothing about .meta, but a
//     memcached that crashed does, if it has left it there.
//   - Items are kept only when the clock shows another second than when memcached stopped.
//   - memcached notices SIGUSR1 within a second. SIGTERM ends it without saving.
//   - With 3.6 million items in 4 GiB it ended after 1.7 seconds and answered 2.2 to 3.2 seconds after the start; with 5.4
//     million in 1 GiB, 1.1 and 1.6.
//
// So memcached is a child of the shell, which looks at .meta before the start and at the exit status after the end. It
// passes SIGTERM on as SIGUSR1: memcached saves also where the hook before the stop did not run. The shell ends a second
// after memcached: the clock has moved on by then, and the hook, which would be killed with the container and reported as
// failed (FailedPreStopHook), has ended before.
//
// The text is part of the pod template. A new release that changes more than its comments asks every cache with a warm
// restart for a cold update.
package entry
