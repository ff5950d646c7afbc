package rootport

import (
	"errors"
	"fmt"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
)

// pump receives packets that have arrived, or else one packet from the port, waiting for
// it until Now reaches until, and handles them. Waiting answers are sent first. It reports
// whether it received any.
func (r *RootPort) pump(until time.Duration) bool {
	r.sendAnswers()
	if r.down != nil {
		return false
	}
	if r.closing.Load() {
		r.fail(bus.ErrClosed)
		return false
	}
	r.received++
	if r.takeArrived() {
		return true
	}
	packet, err := r.port.Receive(max(0, until-r.now()))
	switch {
	case err != nil:
		r.fail(err)
	case packet != nil:
		r.receive(packet)
		r.sendAnswers()
	}
	return packet != nil
}

// burst is the number of packets after which the time is checked again.
const burst = 16

// takeArrived handles packets that have arrived, to burst of them or the next message. It
// reports whether there was one.
func (r *RootPort) takeArrived() bool {
	port, ok := r.port.(arriver)
	if !ok {
		return false
	}
	n := 0
	for n < burst && r.down == nil {
		packet := port.Arrived()
		if packet == nil {
			break
		}
		n++
		r.receive(packet)
		r.sendAnswers()
		if r.event {
			break
		}
	}
	return n > 0
}

// transmit sends the packet in r.buf, and serves the device while the port has
// no room. It fails with bus.ErrTimeout if that takes too long, and with the
// port's error if it refuses the packet. If the port is down, r.down is set.
func (r *RootPort) transmit() error {
	for limit := time.Duration(0); ; {
		err := r.send(&r.buf)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, datalink.ErrSize):
			return err
		case !errors.Is(err, datalink.ErrFull):
			r.fail(err)
			return r.down
		case limit == 0:
			limit = r.now() + r.opt.Timeout
		case r.now() >= limit:
			return fmt.Errorf("%w: the link accepts no packet for %v", bus.ErrTimeout, r.opt.Timeout)
		}
		if r.pump(limit); r.down != nil {
			return r.down
		}
	}
}

// send sends a packet. The port may take its memory, and gives other memory for it.
func (r *RootPort) send(packet *[]byte) (err error) {
	p := *packet
	if g, ok := r.port.(giver); ok {
		*packet, err = g.Give(p)
	} else {
		err = r.port.Send(p)
	}
	if err == nil {
		r.crossed(Down, p)
	}
	return err
}

// crossed counts a packet.
func (r *RootPort) crossed(dir Dir, packet []byte) {
	r.stats.TLPs[dir]++
	r.stats.Bytes[dir] += uint64(len(packet))
	if r.opt.Observer != nil {
		r.opt.Observer(dir, r.now(), packet)
	}
}
