//go:build !linux

package serve_test

// wiresPty returns nothing: only Linux has pseudo-terminals here.
func wiresPty() []wired { return nil }
