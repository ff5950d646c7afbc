package bringup

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// guard is the number of bytes before and after a copy that must not change.
const guard = 8

// dmaCopy copies between host memory and VRAM in many sizes and at many alignments,
// also across 4 KiB boundaries.
func dmaCopy(s *session) outcome {
	var f finding
	n, problem := s.newNode(12)
	if problem != "" {
		f.add("", "%s", problem)
		return f.outcome("")
	}
	rng := s.rng(5)
	sizes := []uint64{1, 3, 8, 64, 127, 128, 1000, 4000}
	aligns := []uint64{8, 9, 12, 15, 60 + 8, 4090}
	copies, total := 0, uint64(0)
	for _, size := range sizes {
		for i, align := range aligns {
			if problem != "" || s.Err != nil {
				break
			}
			if (align+size+guard+7)&^7 > s.vram {
				continue // a VRAM of 4 KiB has no boundary inside
			}
			problem = s.copies(&f, n, rng, size, align, aligns[(i+1)%len(aligns)])
			copies, total = copies+2, total+2*size
		}
	}
	if problem != "" {
		f.add("the DMA engine, or the reads and writes of host memory", "%s", problem)
	}
	return f.outcome(fmt.Sprintf("%d copies, %d bytes, up to 4 KiB boundaries and across them", copies, total))
}

// copies moves size bytes from host memory to VRAM at one alignment, and back to
// host memory at another. It returns why a copy did not run, or "".
func (s *session) copies(f *finding, n node, rng *rand.Rand, size, vramAt, hostAt uint64) string {
	what := fmt.Sprintf("%d B, host %#x to VRAM %#x", size, hostAt, vramAt)
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	from := s.Host.Mem[copyAt+hostAt:][:size]
	copy(from, data)
	lo := (vramAt - guard) &^ 7
	window := make([]byte, (vramAt+size+guard+7)&^7-lo)
	for i := range window {
		window[i] = 0xcc
	}
	s.WriteVRAM(lo, window)
	if problem := n.do(pkt.Copy{Src: pkt.Host | (bare.HostBase + copyAt + hostAt), Dst: vramAt, Bytes: uint32(size)}); problem != "" {
		return what + ": " + problem
	}
	got := make([]byte, len(window))
	s.ReadVRAM(lo, got)
	copy(window[vramAt-lo:], data)
	s.compare(f, what, window, got, int(vramAt-lo))

	what = fmt.Sprintf("%d B, VRAM %#x to host %#x", size, vramAt, hostAt)
	const back = copyAt + 64<<10
	home := s.Host.Mem[back+hostAt-guard:][:size+2*guard]
	for i := range home {
		home[i] = 0x33
	}
	want := bytes.Clone(home)
	copy(want[guard:], data)
	s.WriteVRAM(lo, window)
	if problem := n.do(pkt.Copy{Src: vramAt, Dst: pkt.Host | (bare.HostBase + back + hostAt), Bytes: uint32(size)}); problem != "" {
		return what + ": " + problem
	}
	s.compare(f, what, want, home, guard)
	return ""
}

// compare adds the first wrong byte of a copy to f. The data begins at index first.
func (s *session) compare(f *finding, what string, want, got []byte, first int) {
	if s.Err != nil || bytes.Equal(want, got) {
		return
	}
	wrong, at := 0, -1
	for i := range want {
		if want[i] != got[i] {
			wrong++
			if at < 0 {
				at = i
			}
		}
	}
	where, likely := fmt.Sprintf("byte %d", at-first), "data lost or shifted between the memories"
	if at < first {
		where, likely = fmt.Sprintf("%d bytes before its start", first-at), "the copy writes outside its range: byte enables of the first beat"
	}
	f.add(likely, "%s: %s is %#02x, want %#02x; wrong bytes: %d", what, where, got[at], want[at], wrong)
}
