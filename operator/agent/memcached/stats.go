package memcached

import (
	"fmt"
	"strconv"
)

// Stats are what memcached says of itself, by name.
type Stats map[string]string

// Int returns a statistic that is a whole number.
func (s Stats) Int(name string) (int64, error) {
	value, err := strconv.ParseInt(s[name], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("memcached's statistic %s is no whole number: %q", name, s[name])
	}
	return value, nil
}

// Float returns a statistic that is a number.
func (s Stats) Float(name string) (float64, error) {
	value, err := strconv.ParseFloat(s[name], 64)
	if err != nil {
		return 0, fmt.Errorf("memcached's statistic %s is no number: %q", name, s[name])
	}
	return value, nil
}
