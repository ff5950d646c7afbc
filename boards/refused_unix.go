//go:build unix

package boards

import "syscall"

// connRefused is the error of a connection to a port where nobody listens.
const connRefused = syscall.ECONNREFUSED
