//go:build unix

package serve

import "syscall"

// peerGone is the error of a read after a datagram for which nobody listened.
const peerGone = syscall.ECONNREFUSED
