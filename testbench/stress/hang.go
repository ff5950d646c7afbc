package stress

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
)

// Limits of the work of a hang. Its packets are in one DMA buffer, of 64 KiB and 4,096 patches, since progress counts
// completed DMA buffers.
const (
	minCopies = 64
	maxCopies = 2000      // COPY packets of 24 bytes and two patches
	minHang   = 256 << 10 // bytes of a copy, if VRAM is not small
	minLink   = 4 << 10   // the same of a copy over a slow link
	maxHang   = 64 << 20
)

// Work that hangs takes timesClock times the time-out at the most that the GPU moves in a clock, and timesLine times at the
// rate of a line in virtual time. The rate of other slow links may be assumed, and a local stream is several times as fast: there it
// takes timesLink times the time-out. A hang is over at the latest after three time-outs: preemption, another one if
// DxgkDdiQueryEngineStatus reports progress, reset.
const (
	timesClock = 4
	timesLine  = 8
	timesLink  = 64
)

// mostTimeOut is the longest time-out of a node in clocks with hangs: a GPU that is emulated needs minutes for each.
const mostTimeOut = 1 << 27

// clockBytes is the most that the GPU copies in a clock.
const clockBytes = 8

// leastTimeOut returns the smallest time-out of a node, and the default, in clocks. The calls of a frame, and a
// paging buffer, take less: they move a part of VRAM, at 8 bytes a clock.
func leastTimeOut(vram uint64) uint64 { return max(400_000, vram/4) }

// timeOut returns the time-out of a node and the smallest one, in clocks, or zeros if the time of the board is not
// counted in clocks, or if its selector is invalid, which testbench.Open reports.
func (o *Options) timeOut() (clocks, least uint64) {
	if !inClocks(o.Board) {
		return 0, 0
	}
	vram, hz := boards.Sizes(o.Board)
	if hz == 0 {
		return 0, 0
	}
	least = leastTimeOut(vram)
	switch {
	case o.System.Tdr != 0:
		return uint64(o.System.Tdr.Seconds() * float64(hz)), least
	case o.System.TdrDelay != 0:
		return o.System.TdrDelay, least
	default:
		return least, least
	}
}

// A long is work that takes longer than a time-out: copies between two buffers.
type long struct {
	bytes  uint32 // of a buffer
	copies int
	usage  d3d11.Usage
}

// size makes the work move at least total bytes, in copies of least to most bytes. A packet moves up to length bytes. It
// reports false if that needs too many packets.
func (w *long) size(total, least, most, length uint64) bool {
	bytes := min(max(least, (total+minCopies-1)/minCopies), most) &^ 15
	if bytes > length {
		bytes -= bytes % length
	}
	copies := max(minCopies, (total+bytes-1)/bytes)
	if copies*((bytes+length-1)/length) > maxCopies {
		return false
	}
	w.bytes, w.copies = uint32(bytes), int(copies)
	return true
}

// prepareHangs reads what the work of a hang depends on. The error is that of the link, or tells why nothing hangs.
func (b *bench) prepareHangs() (err error) {
	if b.Hang == 0 {
		return nil
	}
	if b.maxLength, err = b.sys.MaxLength(); err == nil {
		_, err = b.hangWork()
	}
	return err
}

// hangWork returns the work of a hang. Its two buffers need a part of what the GPU can reach: an aperture has 32 times the size
// of VRAM. On a slow link they are in the PC's memory, and the link is what takes the time. The error wraps ErrInput.
func (b *bench) hangWork() (w long, err error) {
	hz := float64(b.sys.Hz())
	tdr := float64(cmp.Or(b.tdr, b.System.TdrDelay))
	if b.System.Tdr != 0 {
		tdr = b.System.Tdr.Seconds() * hz
	}
	total, least := timesClock*clockBytes*tdr, uint64(minHang)
	rate, slow := b.sys.LinkRate()
	if slow {
		times := float64(timesLink)
		if scheme, _, _ := strings.Cut(b.Board, "?"); scheme == "line" {
			times = timesLine
		}
		total, least, w.usage = times*float64(rate)*tdr/hz, minLink, d3d11.UsageStaging
	}
	most := min(maxHang, 2*b.sys.MemoryBytes()) &^ 15
	if w.size(uint64(total), least, most, b.maxLength) {
		return w, nil
	}
	want := tdr * float64(maxCopies*min(most, b.maxLength)) / total
	if slow {
		return w, fmt.Errorf("%w: hangs and a time-out of %.3g s on a link of %d bytes a second, want at most %.3g s, since the longest work that the bench can make hang is shorter",
			ErrInput, tdr/hz, rate, want/hz)
	}
	return w, fmt.Errorf("%w: hangs and a time-out of %.0f clocks on the board %s, want at most %.0f, since the longest work that the bench can make hang is shorter",
		ErrInput, tdr, b.Board, want)
}

// hang submits work that hangs.
func (d *device) hang() error {
	w, err := d.bench.hangWork()
	if err != nil {
		return err
	}
	desc := d3d11.BufferDesc{ByteWidth: w.bytes, Usage: w.usage, BindFlags: d3d11.BindVertexBuffer}
	if w.usage == d3d11.UsageStaging {
		desc.BindFlags, desc.CPUAccessFlags = 0, d3d11.CPUAccessWrite
	}
	var bufs [2]*d3d11.Buffer
	zeros := &d3d11.SubresourceData{SysMem: make([]byte, w.bytes)}
	for i := range bufs {
		if bufs[i], err = d.api.CreateBuffer(desc, zeros); err != nil {
			return err
		}
	}
	d.bench.totals.Hangs++
	d.offend(hang)
	d.bench.note(hang, d)
	d.hanging = true
	for i := range w.copies {
		d.immediate.api.CopyResource(bufs[i%2], bufs[1-i%2])
	}
	d.immediate.api.Flush()
	d.hanging = false
	for _, b := range bufs {
		b.Release()
	}
	return nil
}
