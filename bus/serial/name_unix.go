//go:build linux || darwin

package serial

import "strings"

// isPath reports whether a name is a path and not one to be found.
func isPath(name string) bool {
	return strings.HasPrefix(name, "/") || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../")
}

// sameName reports whether two names of devices are of the same one.
func sameName(a, b string) bool { return a == b }
