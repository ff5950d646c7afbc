//go:build unix

package serve

import (
	"errors"
	"syscall"
)

// passing reports whether an error of a read says nothing about the socket: nobody
// listened for an earlier datagram.
func passing(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
