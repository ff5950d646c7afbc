package stress

import (
	"cmp"
	"fmt"
	"time"

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

// clockBytes is the most that the GPU copies in a clock.
const clockBytes = 8

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
		return b.checkLink(0)
	}
	clocks, began := b.sys.Stats().Cycles, time.Now()
	if b.maxLength, err = b.sys.MaxLength(); err != nil {
		return err
	}
	trip := time.Since(began).Seconds()
	if _, hz := boards.Sizes(b.Board); hz != 0 { // in virtual time
		trip = float64(b.sys.Stats().Cycles-clocks) / float64(hz)
	}
	if err = b.checkLink(trip); err != nil {
		return err
	}
	_, err = b.hangWork()
	return err
}

// hangWork returns the work of a hang. Its two buffers need a part of what the GPU can reach: an aperture has 32 times the size
// of VRAM. On a slow link they are in the PC's memory, and the link is what takes the time. The error wraps ErrInput.
func (b *bench) hangWork() (w long, err error) {
	hz := float64(b.sys.Hz())
	tdr := float64(cmp.Or(b.timeOutAt(b.sys.Hz()), b.tdr))
	total, least := timesClock*clockBytes*tdr, uint64(minHang)
	rate, slow := b.sys.LinkRate()
	if slow {
		total, least, w.usage = b.timesOnLink()*float64(rate)*tdr/hz, minLink, d3d11.UsageStaging
	}
	most := min(maxHang, 2*b.sys.MemoryBytes()) &^ 15
	if w.size(uint64(total), least, most, b.maxLength) {
		return w, nil
	}
	want := tdr * float64(maxCopies*min(most, b.maxLength)) / total
	if slow {
		return w, fmt.Errorf("%w: hangs and a time-out (--tdr-delay) of %v on a link of %d bytes a second, want at most %v, since the longest work that the bench can make hang is shorter",
			ErrInput, milliseconds(tdr*1000/hz), rate, milliseconds(want*1000/hz))
	}
	return w, fmt.Errorf("%w: hangs and a time-out (--tdr-delay) of %s on the board %s, want at most %s, since the longest work that the bench can make hang is shorter",
		ErrInput, b.timeText(uint64(tdr), b.sys.Hz()), b.Board, atMost(uint64(want), b.sys.Hz()))
}

// timesOnLink returns how many time-outs the work of a hang takes on a slow link, at its rate.
func (b *bench) timesOnLink() float64 {
	if scheme(b.Board) == "line" {
		return timesLine
	}
	return timesLink
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
