// Package vectors has directed test vectors of packets: what is in memory and in
// the ring, and what docs/packets.md says that the first node leaves of it. They
// were worked out by hand, so that they check the reference model and a device
// alike.
package vectors

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
)

// The device that vectors are for. It has every capability but that of
// Vector.Lacks.
const (
	Nodes      = 2
	VRAM       = 64 << 10 // bytes
	HostBits   = 40
	LengthBits = 20

	HostBase = 0x1_8000_0000 // bus address of the host memory
	HostSize = 1 << 20

	RingAt     = 0x1000 // of the first node, in host memory
	RingDwords = 1024
	BufferAt   = 0x8000 // the indirect buffer, in host memory
)

// hostAddress is the GPU address of the first byte of host memory.
const hostAddress = 1<<63 | HostBase

// A Vector is one case. In dwords and cells numbers are hexadecimal.
//
// Dwords have a space between them. Cells are separated by a semicolon: v or h for
// VRAM or host memory, an offset, and then "=" and bytes, or ":" and words of 8
// bytes, with spaces. Memory that no cell names holds, in VRAM, at each offset its
// lowest byte, and in host memory from 0x10000 on the complement of that.
type Vector struct {
	Name     string
	Lacks    string // a capability: "protection", "timeline", "contexts", "preemption", or "nodes" for a second node
	Protect  bool   // CTL.PROTECT
	Fence    uint64 // timeline before
	Progress uint32 // PROGRESS before
	Before   string // cells
	Buffer   string // dwords
	Ring     string // dwords

	Retired uint32 // packets
	Fault   *Fault // or nil
	Waits   bool   // at the packet that is at Rptr; there is no fault
	Rptr    uint32 // of a packet that faults or waits; else the end of Ring
	After   string // cells that changed
	Stamp   string // cell, without a value, of a time stamp
	Fenced  uint64 // timeline afterwards, if it changed
	Done    bool   // a DONE event was raised
	Scratch [4]uint32
}

// A Fault is what the node latches.
type Fault struct {
	Cause    uint32
	InBuffer bool
	At       uint32 // dword of Ring or of Buffer that the packet begins at
	Left     uint32 // dwords from there to the end of the buffer
	Bad      uint64 // FAULT_BAD
	Known    bool   // the documents say what that is
	NoHeader bool   // the header could not be read: FAULT_OP is 0
	Addr     uint64 // FAULT_ADDR, if NoHeader
}

// An Outcome is what registers of the node show.
type Outcome struct {
	Cause               string
	FaultAddr, FaultBad uint64
	FaultOp             uint32
	Rptr, IBLeft        uint32
	Packets             uint32
	Timeline            uint64
	Done                bool
	Scratch             [4]uint32
}

// RingBytes returns the ring, as much of it as has packets.
func (v Vector) RingBytes() []byte { return encode(v.dwords(v.Ring)) }

// Load fills memory as it is before the vector; the sizes are VRAM and HostSize.
func (v Vector) Load(vram, host []byte) {
	for i := range vram {
		vram[i] = byte(i)
	}
	for i := range host {
		host[i] = 0
		if i >= 0x10000 {
			host[i] = ^byte(i)
		}
	}
	copy(host[RingAt:], v.RingBytes())
	copy(host[BufferAt:], encode(v.dwords(v.Buffer)))
	v.cells(v.Before, vram, host)
}

// Want makes of memory as Load leaves it what it is afterwards. got is the memory
// of the device, of which the time stamp is taken.
func (v Vector) Want(vram, host, gotVRAM, gotHost []byte) {
	v.cells(v.After, vram, host)
	if v.Stamp == "" {
		return
	}
	to, off := v.place(v.Stamp, vram, host)
	from, _ := v.place(v.Stamp, gotVRAM, gotHost)
	copy(to[off:off+8], from[off:])
}

// Outcome returns what the registers show afterwards. FaultBad is 0 if the
// documents do not say what it is.
func (v Vector) Outcome() Outcome {
	o := Outcome{Cause: cpreg.Causes[0], Rptr: uint32(len(v.dwords(v.Ring))), Packets: v.Retired, Timeline: v.Fence, Done: v.Done, Scratch: v.Scratch}
	if v.Fenced != 0 {
		o.Timeline = v.Fenced
	}
	if v.Waits {
		o.Rptr = v.Rptr
	}
	if f := v.Fault; f != nil {
		o.Rptr, o.IBLeft, o.Cause = v.Rptr, f.Left, cpreg.Causes[f.Cause]
		if f.Known {
			o.FaultBad = f.Bad
		}
		base, words := uint64(hostAddress+RingAt), v.Ring
		if f.InBuffer {
			base, words = hostAddress+BufferAt, v.Buffer
		}
		if o.FaultAddr = f.Addr; !f.NoHeader {
			o.FaultAddr, o.FaultOp = base+4*uint64(f.At), v.dwords(words)[f.At]
		}
	}
	return o
}

func encode(dwords []uint32) []byte {
	var b []byte
	for _, d := range dwords {
		b = binary.LittleEndian.AppendUint32(b, d)
	}
	return b
}

func (v Vector) dwords(text string) []uint32 {
	var all []uint32
	for _, word := range strings.Fields(text) {
		all = append(all, uint32(v.number(word, 32)))
	}
	return all
}

// number panics on what is none: vectors are constants.
func (v Vector) number(text string, bits int) uint64 {
	n, err := strconv.ParseUint(text, 16, bits)
	if err != nil {
		panic(fmt.Sprintf("vectors: %s: %v", v.Name, err))
	}
	return n
}

// place returns the memory and the offset of a cell without its value.
func (v Vector) place(text string, vram, host []byte) ([]byte, uint64) {
	m := map[byte][]byte{'v': vram, 'h': host}[text[0]]
	off := v.number(text[1:], 64)
	if off >= uint64(len(m)) {
		panic(fmt.Sprintf("vectors: %s: no cell %s", v.Name, text))
	}
	return m, off
}

// cells stores cells.
func (v Vector) cells(text string, vram, host []byte) {
	for cell := range strings.SplitSeq(text, ";") {
		if cell = strings.TrimSpace(cell); cell == "" {
			continue
		}
		i := strings.IndexAny(cell, "=:")
		m, off := v.place(cell[:i], vram, host)
		for _, word := range strings.Fields(cell[i+1:]) {
			if cell[i] == '=' {
				m[off] = byte(v.number(word, 8))
				off++
			} else {
				binary.LittleEndian.PutUint64(m[off:], v.number(word, 64))
				off += 8
			}
		}
	}
}
