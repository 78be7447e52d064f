package memory

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// least is what memcached accepts, in MiB.
const least = 8

// errAsked marks what is wrong with the file.
var errAsked = errors.New("the memory for items")

// asked returns how much memory the file asks for, in MiB; 0 for nothing. Its errors are errAsked.
func asked(path string) (int64, error) {
	data, err := os.ReadFile(path)
	text := strings.TrimSpace(string(data))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("%w cannot be read: %w", errAsked, err)
	case text == "":
		return 0, nil
	}
	wanted, err := strconv.ParseInt(text, 10, 32)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w is %.40q in %s: write a whole number of MiB", errAsked, text, path)
	case wanted < least:
		return 0, fmt.Errorf("%w is %d MiB in %s, but memcached takes no less than %d: write %d or more", errAsked, wanted, path, least, least)
	}
	return wanted, nil
}
