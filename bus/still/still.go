// Package still is the clock of a link without a device of its own, such as one that plays back a
// file, and the end of such a link.
package still

import (
	"sync"

	"github.com/hilgpu/hilgpu/bus"
)

// A Clock counts nanoseconds and advances only in Wait. It also knows whether its link is closed or
// down. It is a bus.Clock, and safe for concurrent use. The zero value is at time 0.
type Clock struct {
	mu     sync.Mutex // guards the fields below
	now    uint64
	closed bool
	down   error
}

var _ bus.Clock = (*Clock)(nil)

// Usable returns why no call can succeed: bus.ErrClosed after Close, the first error of Fail, or
// nil.
func (c *Clock) Usable() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return bus.ErrClosed
	}
	return c.down
}

// Fail takes the link down and returns the first error with which that was done.
func (c *Clock) Fail(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down == nil {
		c.down = err
	}
	return c.down
}

// Close implements bus.Link.
func (c *Clock) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return nil
}

// Now implements bus.Clock.
func (c *Clock) Now() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Hz implements bus.Clock.
func (c *Clock) Hz() uint64 { return 1e9 }

// Wait implements bus.Clock. It advances to the deadline and reports no event.
func (c *Clock) Wait(deadline uint64) (event bool, err error) {
	if err := c.Usable(); err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = max(c.now, deadline)
	return false, nil
}
