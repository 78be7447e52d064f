package memory

import (
	"context"
	"fmt"
	"strings"

	"github.com/example/memcached-operator/operator/agent/memcached"
)

// mebibyte is also the size of a page.
const mebibyte = 1 << 20

// mostPages is more than any machine has memory for.
const mostPages = 1 << 40

// limitName is the statistic with memcached's limit of the memory for items, in bytes.
const limitName = "limit_maxbytes"

// Held returns how much memory items may take, in MiB, from memcached's general statistics and those of "slabs": its limit, or
// more while memcached has not released all memory above a lowered limit.
func Held(general, slabs memcached.Stats) (int64, error) {
	limit, err := general.Int(limitName)
	if err != nil {
		return 0, err
	}
	taken, err := count(slabs)
	if err != nil {
		return 0, err
	}
	return max(limit/mebibyte, taken.held()), nil
}

// currentLimit asks memcached for its limit, in bytes.
func currentLimit(ctx context.Context, conn *memcached.Conn) (int64, error) {
	stats, err := conn.Stats(ctx, "")
	if err != nil {
		return 0, err
	}
	return stats.Int(limitName)
}

// pages are those that slab classes have taken.
type pages struct {
	spare   int64  // Those beyond the first of each class.
	largest string // The class that has most.
	most    int64  // The number of its pages.
}

// count counts pages in the statistics of "slabs".
func count(slabs memcached.Stats) (pages, error) {
	var p pages
	for name := range slabs {
		class, isPages := strings.CutSuffix(name, ":total_pages")
		if !isPages {
			continue
		}
		count, err := slabs.Int(name)
		if err == nil && (count < 0 || count > mostPages) {
			err = fmt.Errorf("memcached's statistic %s cannot be true: %d", name, count)
		}
		if err != nil {
			return pages{}, err
		}
		p.spare += max(0, count-1)
		if count > p.most || count == p.most && class < p.largest {
			p.largest, p.most = class, count
		}
	}
	return p, nil
}

// held returns the lowest limit, in MiB, under which memcached could have taken these pages.
func (p pages) held() int64 {
	return p.spare + 1
}
