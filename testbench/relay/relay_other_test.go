//go:build !linux

package relay_test

// systemPaths are those that this system has.
func systemPaths() []path { return nil }
