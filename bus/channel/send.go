package channel

import (
	"errors"
	"fmt"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
)

// Send queues a copy of a packet. It is written when a datagram, or the largest Write to
// a stream, is full, by Flush, when a Receive has nothing to return, and at the latest a
// millisecond later. Send fails with datalink.ErrFull if the queue
// of the packet's class is full, with datalink.ErrSize for a bad size, and with
// the cause, which wraps bus.ErrLinkDown, if the link is down. On a board it
// fails with ErrSession until Receive has reported the session, and with
// datalink.ErrNotUp before a session; both wrap bus.ErrLinkDown.
func (c *Channel) Send(packet []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.maySend(); err != nil {
		return err
	}
	if c.link.Bundle() > 0 {
		spare := append(c.spare[:0], packet...)
		var err error
		c.spare, err = c.queue(spare)
		return err
	}
	now := c.Now()
	return c.sent(c.link.Send(packet, now, c.output()), now)
}

// Give is Send without a copy. The channel takes the memory of the packet and returns other
// memory, empty or nil, for the next one. It only reads the packet, and does not use the
// memory again before the next Send or Give. If Give fails it returns the packet, which
// stays the caller's.
func (c *Channel) Give(packet []byte) (spare []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.maySend(); err != nil {
		return packet, err
	}
	if c.link.Bundle() > 0 {
		return c.queue(packet)
	}
	now := c.Now()
	spare, err = c.link.Give(packet, now, c.output())
	return spare, c.sent(err, now)
}

// queue queues a packet in a session whose frames have several packets. If it does not fit
// into a frame with those that wait, they are sent first.
func (c *Channel) queue(packet []byte) (spare []byte, err error) {
	var now time.Duration
	full := c.link.Full(len(packet))
	if full {
		now = c.Now()
		c.sendQueued(now)
	}
	if spare, err = c.link.Queue(packet); err != nil {
		err = c.sent(err, 0)
	}
	switch {
	case full:
		c.queued = true
		c.arm(c.flush(now, c.largestWrite()-c.link.Most()+1))
	case !c.queued:
		c.queued = true
		c.arm(c.Now())
	}
	return spare, err
}

// sendQueued makes frames of the packets that are queued, as far as the window and credits
// allow.
func (c *Channel) sendQueued(now time.Duration) {
	c.queued = false
	c.link.SendWaiting(now, c.output())
	c.settle(now)
}

// maySend returns why no packet can be sent, or nil.
func (c *Channel) maySend() error {
	if c.err == nil && c.announce {
		return fmt.Errorf("%w: %w", bus.ErrLinkDown, ErrSession)
	}
	return c.err
}

// sent processes the result of the link for a packet, and returns that of Send.
func (c *Channel) sent(err error, now time.Duration) error {
	switch {
	case err == nil:
	case errors.Is(err, datalink.ErrFull):
		c.full, c.sentThen = true, c.link.Stats().PacketsSent
		return err
	case errors.Is(err, datalink.ErrNotUp):
		return fmt.Errorf("%w: %w", bus.ErrLinkDown, err)
	default:
		return err
	}
	c.settle(now)
	c.arm(c.flush(now, c.largestWrite()))
	return nil
}

// Flush writes what Send has queued, as far as the window and the rate allow.
func (c *Channel) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queued || c.pending.len() > 0 {
		now := c.Now()
		if c.queued {
			c.sendQueued(now)
		}
		c.arm(c.flush(now, 1))
	}
}
