package figures

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// Addresses in host memory of the pages of a copy through the aperture, after the other parts
// of the figures, and their number: source and destination. apertureVRAM is where its VRAM begins.
const (
	aperturePages = 2 * large / gartreg.PageBytes
	apertureTable = cycleBuffer + gartreg.PageBytes
	apertureHost  = cycleRing + 0x20000
	apertureVRAM  = 1 << 20
)

// apertureRate measures the bytes per clock of a copy from the doorbell to the message: the
// slowest of one into, one out of and one inside of the aperture. No entry is kept before it.
func apertureRate(table uint64) func(ctx context.Context) (float64, error) {
	const in, out = gartreg.Start, gartreg.Start + large
	return func(ctx context.Context) (float64, error) {
		slowest := float64(0)
		for _, c := range []pkt.Copy{
			{Src: in, Dst: apertureVRAM + large, Bytes: large}, {Src: apertureVRAM, Dst: out, Bytes: large}, {Src: in, Dst: out, Bytes: large},
		} {
			took, err := apertureClocks(ctx, table, c)
			if err != nil {
				return 0, err
			}
			slowest = max(slowest, took)
		}
		return large / slowest, nil
	}
}

// apertureClocks measures the clocks of a copy, and compares what it has written with its source.
func apertureClocks(ctx context.Context, table uint64, c pkt.Copy) (float64, error) {
	memory := bare.NewHost(0x20000 + 2*large)
	pages := memory.Mem[apertureHost-cycleRing:]
	m := bench{board: "emu?gart=1&latency=64&tags=16", host: memory}
	m.prepare = func(b *bare.Board) {
		for i := range memory.Mem[:large] {
			pages[i] = byte(i * 7 / 3)
		}
		entries := make([]byte, 0, aperturePages*gartreg.EntryBytes)
		for i := range uint64(aperturePages) {
			entries = binary.LittleEndian.AppendUint64(entries, entry(i))
		}
		if table&pkt.Host != 0 {
			copy(memory.Mem[table-cycleRing:], entries)
		} else {
			b.WriteVRAM(table, entries)
		}
		b.WriteVRAM(apertureVRAM, pages[:large])
		b.SetReg(gartreg.Base+gartreg.TableLo, uint32(table))
		b.SetReg(gartreg.Base+gartreg.TableHi, uint32(table>>32))
		b.SetReg(gartreg.Base+gartreg.Pages, aperturePages)
		b.SetReg(gartreg.Base+gartreg.Ctl, gartreg.CtlEnable)
	}
	m.check = func(b *bare.Board) error { return compareCopy(b, pages, c) }
	return m.clocks(ctx, c)
}

// compareCopy fails if a copy has not written what its source has.
func compareCopy(b *bare.Board, pages []byte, c pkt.Copy) error {
	want, got := make([]byte, 0, large), make([]byte, 0, large)
	for i := range uint64(large / gartreg.PageBytes) {
		from, to := entry(i)&gartreg.EntryPage-(apertureHost&^pkt.Host), entry(i+aperturePages/2)&gartreg.EntryPage-(apertureHost&^pkt.Host)
		got = append(got, pages[to:][:gartreg.PageBytes]...)
		want = append(want, pages[from:][:gartreg.PageBytes]...)
	}
	if c.Src < gartreg.Start {
		want = pages[:large]
	}
	if c.Dst < gartreg.Start {
		got = make([]byte, large)
		b.ReadVRAM(c.Dst, got)
	}
	if b.Err == nil && !bytes.Equal(want, got) {
		return fmt.Errorf("%w: the copy through the aperture has other bytes", ErrStuck)
	}
	return b.Err
}

// entry returns the entry of a page. Adjacent pages of the aperture are far from each other in
// host memory, and the pages of the source are the first half.
func entry(page uint64) uint64 {
	const half = aperturePages / 2
	page = page/half*half + page*5%half
	return (apertureHost&^pkt.Host + page*gartreg.PageBytes) | gartreg.EntryValid | gartreg.EntryWritable
}
