package serve

import (
	"errors"
	"time"
)

// errBusy is returned by Visit if the ports of the device were not quiet in time.
var errBusy = errors.New("serve: requests are at the device")

const (
	visitEvery = time.Millisecond // how often Visit looks again
	visitTries = 500              // how often it looks
)

// Visit calls f while no device clock runs and no request of the host is at the device, so that f can copy
// the device. f must not call the board. It fails, without a call of f, if there was no
// such moment for half a second.
func (b *Board) Visit(f func()) error {
	for range visitTries {
		if b.visit(f) {
			return nil
		}
		time.Sleep(visitEvery)
	}
	return errBusy
}

// visit is Visit with one look. It reports whether it called f.
func (b *Board) visit(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held != nil || !b.end.Quiet() {
		return false
	}
	f()
	return true
}
