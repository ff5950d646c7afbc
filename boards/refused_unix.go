//go:build unix

package boards

import "syscall"

// connRefused is the error of connecting to a port without a listener.
const connRefused = syscall.ECONNREFUSED
