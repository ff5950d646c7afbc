//go:build !linux

package serve

import "runtime"

// ListenPty fails with ErrOptions: only Linux has pseudo-terminals without cgo.
func ListenPty(path string) (*Pty, error) {
	return nil, check("pty:"+path, runtime.GOOS, runtime.GOARCH)
}
