// Package vectors holds directed test vectors for packets: the contents of memory and
// of the ring, and the outcome at the first node according to docs/packets.md. The
// outcomes were worked out by hand, so the vectors check both the reference model
// and a device.
package vectors

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
)

// The device that the vectors require. It has every capability except Vector.Lacks.
const (
	Nodes      = 2
	VRAM       = 64 << 10 // bytes
	HostBits   = 40
	LengthBits = 20

	HostBase = 0x1_8000_0000 // bus address of the host memory
	HostSize = 1 << 20

	RingAt     = 0x1000 // the first node's ring, in host memory
	RingDwords = 1024
	BufferAt   = 0x8000 // the indirect buffer, in host memory
)

// hostAddress is the GPU address of the first byte of host memory.
const hostAddress = 1<<63 | HostBase

// A Vector is one test case. Numbers in dwords and cells are hexadecimal.
//
// Dwords are separated by spaces. Cells are separated by semicolons. A cell is v or h,
// for VRAM or host memory, an offset, and either "=" and bytes or ":" and 8-byte
// words, separated by spaces. Initially each byte of VRAM is the low byte of its
// offset; each byte of host memory from 0x10000 is the complement of that.
type Vector struct {
	Name     string
	Lacks    string // missing capability; "nodes": no second node
	Protect  bool   // CTL.PROTECT
	Fence    uint64 // initial timeline
	Progress uint32 // initial PROGRESS
	Before   string // cells
	Buffer   string // dwords
	Ring     string // dwords

	Retired uint32 // packets
	Fault   *Fault // or nil
	Waits   bool   // the node waits at the packet at Rptr; there is no fault
	Rptr    uint32 // of the packet that faults or waits; otherwise the end of Ring
	After   string // cells that changed
	Stamp   string // cell of a time stamp, without a value
	Fenced  uint64 // final timeline, if it changed
	Done    bool   // a DONE event was raised
	Scratch [4]uint32
}

// A Fault is the fault that the node latches.
type Fault struct {
	Cause    uint32
	InBuffer bool
	At       uint32 // dword of Ring or of Buffer at which the packet begins
	Left     uint32 // dwords from there to the end of the buffer
	Bad      uint64 // FAULT_BAD
	Known    bool   // the documents define FAULT_BAD
	NoHeader bool   // the header could not be read: FAULT_OP is 0
	Addr     uint64 // FAULT_ADDR, if NoHeader
}

// An Outcome is the final contents of the node's registers.
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

// RingBytes returns the packets in the ring.
func (v Vector) RingBytes() []byte { return encode(v.dwords(v.Ring)) }

// Load fills memory for the start of the vector. The sizes must be VRAM and HostSize.
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

// Want turns memory as filled by Load into the expected final memory. The time stamp
// is copied from gotVRAM or gotHost, the memory of the device.
func (v Vector) Want(vram, host, gotVRAM, gotHost []byte) {
	v.cells(v.After, vram, host)
	if v.Stamp == "" {
		return
	}
	to, off := v.place(v.Stamp, vram, host)
	from, _ := v.place(v.Stamp, gotVRAM, gotHost)
	copy(to[off:off+8], from[off:])
}

// Outcome returns the expected final registers. FaultBad is 0 if the documents do not
// define it.
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

// number parses a hexadecimal number. It panics on a bad one: vectors are constants.
func (v Vector) number(text string, bits int) uint64 {
	n, err := strconv.ParseUint(text, 16, bits)
	if err != nil {
		panic(fmt.Sprintf("vectors: %s: %v", v.Name, err))
	}
	return n
}

// place returns the memory and the offset of a cell.
func (v Vector) place(text string, vram, host []byte) ([]byte, uint64) {
	m := map[byte][]byte{'v': vram, 'h': host}[text[0]]
	off := v.number(text[1:], 64)
	if off >= uint64(len(m)) {
		panic(fmt.Sprintf("vectors: %s: no cell %s", v.Name, text))
	}
	return m, off
}

// cells stores the values of cells.
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
