package serve

import "golang.org/x/sys/windows"

// peerGone is the error of a read after a datagram for which nobody listened.
const peerGone = windows.WSAECONNRESET
