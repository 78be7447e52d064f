// Package sizing turns a memory limit into memcached's arguments, so that a full cache with all its connections stays
// within the limit: the kernel kills a container that goes beyond it, and everything cached is gone. It is pure, and
// knows numbers only.
//
// memcached's -m is the memory for items alone. What comes on top was measured with memcached 1.6.18, 1.6.38 and 1.6.45
// on Linux 6.18 (x86-64, glibc, transparent huge pages at madvise), as VmHWM, the highest resident set; MiB unless said
// otherwise:
//
//   - the process itself: 4.3 (1.6.18) and 5.8 (1.6.38, 1.6.45) with one thread, 6.1 with four, 11.1 with 64; with TLS
//     4.7 more. Reserved: 6, 128 KiB a thread, 5 with TLS.
//   - the first page of each slab class. memcached hands it out even when -m is used up: after a fill with the smallest
//     items, one item of every size took -m 8 from 14.5 to 52.8, -m 64 from 71.4 to 111.4 and -m 256 from 274.3 to
//     315.2 (total_malloced 102 at -m 64). There are 39 classes, one of them paid for by -m. Reserved: 38.
//   - the hash table, which is not part of -m. It doubles when it has 1.5 items a bucket, and both tables exist while
//     items move over: -m 64 ends at 4 (6 meanwhile), -m 256 at 16 (24), -m 1024 at 64 (96: 1126.4 measured in all).
//     Reserved: exactly that, for a cache full of the smallest items with the first pages of the other classes: -m 72 held
//     786,563 items, where 72 pages of the smallest are 786,432, the most before the table doubles again.
//   - what the allocator adds to each page of 1 MiB, and page tables: 256 MiB of items of 500 kB measured 257.6. Reserved:
//     1 % of -m.
//   - connections: idle 0.7 KiB, half-way through a command 4.5 KiB, half-way through a value 6 KiB. With TLS 31 KiB and
//     70 KiB (1.6.38; 14 and 34 with 1.6.18). The kernel charges about 4 KiB for a socket and its file. Reserved: 12 KiB
//     each, with TLS 80 KiB.
//
// With -e (warm restart) the items are in a file in a tmpfs. Its pages are the same memory, so they count once, and the
// file is exactly as large as -m: 72.8 at -m 64 and 277.1 at -m 256, filled as above, and no more after a restart with all
// items kept. Every class gets its first page from the file at the start, so nothing goes beyond -m; and an -m below 39
// ends memcached ("max memory must be at least 39 megabytes"). Reserved: 1 for the file's metadata, and none of the 38.
//
// Limits of the model. A client that asks for much and does not read the answer holds 18 KiB (1.6.18) to 31 KiB (1.6.38),
// hundreds of KiB with long lines of keys: that is not reserved for all connections at a time. Socket buffers are the
// kernel's, which shrinks them before it kills. Not covered: -f, -n, slab_chunk_max (they change the number of classes),
// extstore, and kernels with transparent huge pages at always.
//
// Of -c connections some are memcached's own, when it listens on IPv4 and IPv6 as it does in a pod: 9 and 5 for each thread
// in 1.6.38 and 1.6.45, 9 and 4 for each in 1.6.18. With four threads and -c 1024, 995 clients get in, 999 with 1.6.18.
package sizing
