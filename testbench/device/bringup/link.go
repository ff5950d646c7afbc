package bringup

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// trips is the number of configuration reads that test the link.
const trips = 64

func trailing(v uint64) int { return bits.TrailingZeros64(v) }

// linkTrips reads the identity repeatedly: the answer must be the same each time,
// and not the level of an undriven line.
func linkTrips(s *session) outcome {
	var f finding
	before := counters(s)
	times := make([]uint64, 0, trips)
	first := uint32(0)
	for i := range trips {
		from := s.Clock.Now()
		v := s.Config(pcicfg.ID)
		if s.Err != nil {
			return failed(fmt.Sprintf("read %d of the identity got no answer", i+1), "the board is off, not programmed, or another device is attached", nil)
		}
		times = append(times, s.Clock.Now()-from)
		if i == 0 {
			first = v
		}
		if v != first {
			f.add("the link delivers data that the board did not send", "read %d of the identity is %#08x, the first was %#08x", i+1, v, first)
		}
	}
	if first == 0 || first == 0xffffffff {
		f.add("the link works but the device does not: not programmed, or held in reset", "the identity reads %#08x", first)
	}
	s.device.Vendor, s.device.Product = first&0xffff, first>>16
	slices.Sort(times)
	tick := 1 / float64(s.Clock.Hz())
	o := f.outcome(fmt.Sprintf("%d round trips, p50 %s, p99 %s", trips, seconds(float64(times[trips/2])*tick), seconds(float64(times[trips*99/100])*tick)))
	if errs := counted(before, counters(s)); len(errs) > 0 {
		o.details = append(o.details, "the link recovered from errors: "+list(errs)+repeatedNote(errs))
	}
	return o
}

// counters returns the counters of the link, or nil if it has none.
func counters(s *session) []boards.Counter {
	if c, ok := bus.As[boards.Counters](s.Link); ok {
		return c.Counters()
	}
	return nil
}

// counted returns the increase of the error counters. Errors that the link
// recovered from are reported and are not a failure.
func counted(before, after []boards.Counter) []Count {
	was := map[string]uint64{}
	for _, c := range before {
		was[c.Name] = c.Value
	}
	var moved []Count
	for _, c := range after {
		if isError(c.Name) && c.Value > was[c.Name] {
			moved = append(moved, Count{c.Name, c.Value - was[c.Name]})
		}
	}
	return moved
}

// list formats counts.
func list(all []Count) string {
	var texts []string
	for _, c := range all {
		texts = append(texts, fmt.Sprintf("%s %d", c.Name, c.Count))
	}
	return strings.Join(texts, ", ")
}

// repeatedNote explains frames that were repeated although the host saw none damaged, or is empty.
func repeatedNote(all []Count) string {
	if len(all) != 1 || all[0].Name != "frames_repeated" {
		return ""
	}
	return "; the host saw none damaged, and link.errors has those that the board refused. A board with a window of two also asks again for a frame after a request that waits"
}

// isError reports whether the named counter counts errors.
func isError(name string) bool {
	for _, part := range []string{
		"crc", "nak", "replay", "repeat", "damaged", "duplicate", "lost", "garbage", "drop", "timeout", "late",
		"malformed", "unexpected", "stale", "error",
	} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
