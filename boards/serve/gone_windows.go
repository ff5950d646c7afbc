package serve

import (
	"errors"

	"golang.org/x/sys/windows"
)

// passing reports whether an error of a read says nothing about the socket: nobody
// listened for an earlier datagram, or a datagram was too long.
func passing(err error) bool {
	return errors.Is(err, windows.WSAECONNRESET) || errors.Is(err, windows.WSAEMSGSIZE)
}
