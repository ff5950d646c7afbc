package stress

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/boards"
)

// mostTimeOut is the longest time-out of a node in clocks with hangs: a GPU that is emulated needs minutes for each.
const mostTimeOut = 1 << 27

// Before a reset the driver reads the state of the GPU, at most stateReads registers one after another. On a slow link each
// read waits for the answer, and for up to stateQueue bytes of the GPU's work that are on the way. The work that hangs
// must last meanwhile, since a node that ends is not reset.
const (
	stateReads = 256
	stateQueue = 3 << 10
)

// Ordinary work of a node moves at least workPieces resources without a completed fence over the link, and at most all of a
// device, when it is opened. Both nodes do so at once.
const workPieces = 8

// resetAfter is how many time-outs pass before a node is reset.
const resetAfter = 3

// linkHeaders is how much longer data takes on a slow link than at its rate, since packets have headers.
const linkHeaders = 1.25

// leastTimeOut returns the smallest time-out of a node, and the default, in clocks. The calls of a frame, and a
// paging buffer, take less: they move a part of VRAM, at 8 bytes a clock.
func leastTimeOut(vram uint64) uint64 { return max(400_000, vram/4) }

// timeOut returns the time-out of a node and the smallest one, in clocks, and the clocks of a second, or zeros if the time of
// the board is not counted in clocks, or if its selector is invalid, which testbench.Open reports.
func (o *Options) timeOut() (clocks, least, hz uint64) {
	if !inClocks(o.Board) {
		return 0, 0, 0
	}
	vram, hz := boards.Sizes(o.Board)
	if hz == 0 {
		return 0, 0, 0
	}
	least = leastTimeOut(vram)
	return cmp.Or(o.timeOutAt(hz), least), least, hz
}

// timeOutAt returns the time-out of the options in clocks, of which a second has hz; 0: they have none.
func (o *Options) timeOutAt(hz uint64) uint64 {
	if o.System.Tdr != 0 {
		return uint64(o.System.Tdr.Seconds() * float64(hz))
	}
	return o.System.TdrDelay
}

// inClocks reports whether the time of a board is counted in clocks of the GPU, without a slow
// link.
func inClocks(board string) bool { return scheme(board) == "emu" || scheme(board) == "verilated" }

// scheme returns the scheme of a selector.
func scheme(board string) string {
	name, _, _ := strings.Cut(board, "?")
	return name
}

// atLeast returns clocks as a time of --tdr-delay that is not shorter, in milliseconds.
func atLeast(clocks, hz uint64) string {
	return fmt.Sprintf("%v (%d clocks)", milliseconds(math.Ceil(float64(clocks)*1000/float64(hz))), clocks)
}

// atMost returns clocks as a time of --tdr-delay that is not longer, in milliseconds.
func atMost(clocks, hz uint64) string {
	return fmt.Sprintf("%v (%d clocks)", milliseconds(math.Floor(float64(clocks)*1000/float64(hz))), clocks)
}

// timeText returns a time-out of the options, of the given clocks.
func (o *Options) timeText(clocks, hz uint64) string {
	if o.System.Tdr != 0 {
		return fmt.Sprintf("%v (%d clocks)", o.System.Tdr, clocks)
	}
	return atMost(clocks, hz)
}

func milliseconds(n float64) time.Duration { return time.Duration(n) * time.Millisecond }

// A slowLink is what a time-out on a slow link depends on.
type slowLink struct {
	rate  float64 // bytes per second
	trip  float64 // seconds from a read of a register to its answer, on an idle link
	times float64 // work that hangs takes this many time-outs at the rate
	share float64 // bytes of the resources of a device
}

// least returns the smallest time-out in seconds. Ordinary work may not be reset, and with hangs the work that hangs may not
// end while the driver reads the state of the GPU before the reset.
func (l slowLink) least(hangs bool) float64 {
	work := 2 * l.share * linkHeaders / l.rate / resetAfter
	if !hangs {
		return work
	}
	return max(work, stateReads*(l.trip+stateQueue/l.rate)/(l.times*linkHeaders-resetAfter))
}

// checkLink refuses a time-out that is too short for the link of the board, if that is slow. trip is that of a slowLink. The
// error wraps ErrInput.
func (b *bench) checkLink(trip float64) error {
	rate, slow := b.sys.LinkRate()
	tdr := b.timeOutAt(b.sys.Hz())
	if !slow || tdr == 0 {
		return nil
	}
	l := slowLink{rate: float64(rate), trip: trip, times: b.timesOnLink(), share: float64(b.piece * max(workPieces, b.pieces))}
	want := milliseconds(math.Ceil(l.least(b.Hang > 0) * 1000))
	if got := time.Duration(float64(tdr) / float64(b.sys.Hz()) * float64(time.Second)); got < want {
		return fmt.Errorf("%w: a time-out (--tdr-delay) of %v on a link of %d bytes a second, want at least %v, since ordinary work and the reads before a reset take nearly as long",
			ErrInput, got, rate, want)
	}
	return nil
}
