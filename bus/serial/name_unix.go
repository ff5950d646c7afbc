//go:build linux || darwin

package serial

import "strings"

// isPath reports whether a name is a path rather than a name to look up.
func isPath(name string) bool {
	return strings.HasPrefix(name, "/") || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../")
}

// sameName reports whether two device names are the same.
func sameName(a, b string) bool { return a == b }
