package memory

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// mebibyte is also the size of a page.
const mebibyte = 1 << 20

// Source is a connection to memcached.
type Source interface {
	// Stats returns the statistics of a topic, the general ones for an empty topic.
	Stats(ctx context.Context, topic string) (map[string]string, error)
}

// Held returns how much memory items may take, in MiB: memcached's limit, or, once that was lowered, what memcached has
// not given back yet.
func Held(ctx context.Context, source Source) (int64, error) {
	limit, err := currentLimit(ctx, source)
	if err != nil {
		return 0, err
	}
	taken, err := take(ctx, source)
	if err != nil {
		return 0, err
	}
	return max(limit/mebibyte, taken.held()), nil
}

// currentLimit returns memcached's limit of the memory for items, in bytes.
func currentLimit(ctx context.Context, source Source) (int64, error) {
	stats, err := source.Stats(ctx, "")
	if err != nil {
		return 0, err
	}
	limit, err := strconv.ParseInt(stats["limit_maxbytes"], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("memcached does not say how much memory it may take: %w", err)
	}
	return limit, nil
}

// pages are those that slab classes have taken.
type pages struct {
	// spare are those beyond the first of each class.
	spare int64

	// largest is the class that has most, and most its number of pages.
	largest string
	most    int64
}

// take asks memcached.
func take(ctx context.Context, source Source) (pages, error) {
	stats, err := source.Stats(ctx, "slabs")
	if err != nil {
		return pages{}, err
	}
	var p pages
	for name, value := range stats {
		class, isPages := strings.CutSuffix(name, ":total_pages")
		if !isPages {
			continue
		}
		count, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return pages{}, fmt.Errorf("memcached's statistic %s is no number: %q", name, value)
		}
		p.spare += max(0, count-1)
		if count > p.most || count == p.most && class < p.largest {
			p.largest, p.most = class, count
		}
	}
	return p, nil
}

// held returns the least limit, in MiB, under which memcached could have taken these pages.
func (p pages) held() int64 {
	return p.spare + 1
}
