package serial

import (
	"fmt"
	"time"
)

// heldUntil returns false: without cgo, macOS does not report who has a device
// open.
func heldUntil(string, time.Time) bool { return false }

// busyPort returns the error for a busy port.
func busyPort(path string) error {
	return fmt.Errorf("%w: %s is held by another process: end it, or use another port", ErrBusy, path)
}
