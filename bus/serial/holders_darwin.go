package serial

import (
	"fmt"
	"time"
)

// heldUntil returns false: without cgo, macOS does not tell who has a device open.
func heldUntil(string, time.Time) bool { return false }

// busyPort returns that a port is busy.
func busyPort(path string) error {
	return fmt.Errorf("%w: %s is held by another process: end it, or take another port", ErrBusy, path)
}
