// Package memory keeps memcached's memory for items at what a file asks for, without a restart: memcached's -m is where it
// begins, and one that is restarted with an old one is brought back.
//
// Seen with 1.6.18, 1.6.38 and 1.6.45:
//
//   - cache_memlimit is obeyed at once, but only for memory that is still to be taken. A full memcached that is made smaller
//     keeps all it has, for as long as one cares to look; a container whose limit follows is killed.
//   - Memory is given back a page of 1 MiB at a time, when "slabs reassign <class> 0" says so: 192 pages full of items of
//     1 kB took 0.3 to 4.4 seconds. So pages are taken from the class that has most, until those beyond the first of each
//     class fit the limit. A memcached that filled up under this limit never has more: each of the 39 classes gets its
//     first page whatever the limit is, which is what package sizing of the operator reckons with.
//   - glibc gives pages that memcached frees back to the system, but only until memcached has grown again: 197 MiB were
//     resident with 66 MiB in use after the second time. With MALLOC_MMAP_THRESHOLD_=524288 in memcached's environment,
//     they always were given back.
//   - memcached refuses less than 8 MiB, and with -e any change.
package memory
