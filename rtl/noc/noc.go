// Package noc is the network between the engines and the two memories: VRAM and,
// through the initiator port, host memory.
//
// Bit 63 of a request's address selects the memory: host memory if it is set.
// Readers and writers see a header accepted; writers then send their beats, in
// the order of their headers. A completion returns to the reader whose number is
// in bits 5..4 of the tag. An arbiter is a block that holds whose turn it is.
// Grants and readies are pure functions of the blocks' outputs, which the parent
// calls.
package noc

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// Host is the bit of an address that selects host memory.
const Host = uint64(1) << 63

// Readers, in bits 5..4 of a tag. The target reads VRAM only.
const (
	ReadCP0 = iota
	ReadCP1
	ReadDMA
	ReadTarget
)

// TagMCU is the tag of the reads of the microcontroller: one that node 0 does not use.
const TagMCU = ReadCP0<<4 | 15

// TagGART is the tag of the reads of the aperture's table, another one that node 0 does not use.
// The headers take the place of those of the DMA engine.
const TagGART = ReadCP0<<4 | 14

// The reads of the microcontroller, among the sources of the initiator port and among the
// readers of VRAM.
const (
	HostReadMCU = HostNone
	VRAMReadMCU = 4
)

// Writers, for Owner.Source. WriteMessage writes messages to host memory, and what the
// microcontroller writes.
const (
	WriteDMA = iota
	WriteFence0
	WriteFence1
	WriteMessage
)

// Sources of the initiator port: the readers ReadCP0, ReadCP1 and ReadDMA, then
// from HostWrite on the writers.
const (
	HostNone  = 3 // no source, or the microcontroller
	HostWrite = 4

	HostWriteDMA     = HostWrite + WriteDMA
	HostWriteFence0  = HostWrite + WriteFence0
	HostWriteFence1  = HostWrite + WriteFence1
	HostWriteMessage = HostWrite + WriteMessage
)

// A Turn is the state of an arbiter.
type Turn struct {
	At   uint8 `w:"3"` // the source that goes first
	Hold bool  // At was granted and not yet taken, so it keeps the grant
}

// Grant returns the source that is granted, the first from t.At on whose bit is
// set in valid. It is meaningful if valid is not 0.
func Grant(valid uint8, t Turn) uint8 {
	// In most clocks the source whose turn it is has a header, or no source has
	// one.
	if t.Hold || hdl.Asleep(valid == 0 || valid>>t.At&1 != 0) {
		return t.At
	}
	from := valid >> t.At << t.At
	if from == 0 {
		from = valid
	}
	g := t.At
	for i := uint8(0); i < 8; i++ {
		if from>>(7-i)&1 != 0 {
			g = 7 - i
		}
	}
	return g
}

// next returns an arbiter's state after a clock with the headers in valid and the
// grant g.
func next(valid, g uint8, t Turn, taken bool) Turn {
	if valid == 0 {
		return t
	}
	if taken {
		return Turn{At: (g + 1) & 7}
	}
	return Turn{At: g, Hold: true}
}

// Outward reports whether r is a request to host memory.
func Outward(r port.Request) bool { return r.Kind != port.None && r.Addr&Host != 0 }

// Inward reports whether r is a request to VRAM.
func Inward(r port.Request) bool { return r.Kind != port.None && r.Addr&Host == 0 }

// Tag returns the tag of a reader's request: the reader's number above the local
// tag.
func Tag(r port.Request, reader uint8) uint8 { return reader<<4 | r.Tag&15 }

// Free reports whether tag is not in busy.
func Free(tag uint8, busy uint64) bool { return busy>>tag&1 == 0 }

// Open returns the headers in valid that may be granted. While closed is set,
// these are the header that holds the grant and those of the sources in always.
func Open(valid uint8, t Turn, closed bool, always uint8) uint8 {
	if closed {
		held := uint8(0)
		if t.Hold {
			held = 1 << t.At
		}
		valid &= always | held
	}
	return valid
}

// Completion returns a reader's share of the two completions of a clock, with its
// local tag. The host's has precedence; VRAM's then waits.
func Completion(host, vram port.Completion, reader uint8) port.Completion {
	if host.Tag>>4 == reader && host.Status != port.CplNone {
		vram = host
	}
	return Own(vram, reader)
}

// Split returns a completion for the readers of node 0's number as that of the reader with the
// given tag and as that of the others, of which one is none.
func Split(cpl port.Completion, tag uint8) (own, rest port.Completion) {
	own, rest = cpl, cpl
	if cpl.Tag == tag {
		rest.Status = port.CplNone
	} else {
		own.Status = port.CplNone
	}
	return own, rest
}

// Own returns a completion with its local tag if it is for the reader, and none
// otherwise.
func Own(cpl port.Completion, reader uint8) port.Completion {
	if cpl.Tag>>4 != reader {
		cpl.Status = port.CplNone
	}
	cpl.Tag &= 15
	return cpl
}

// CompletionReady reports whether the completion from VRAM is taken.
func CompletionReady(host, vram port.Completion) bool {
	return host.Status == port.CplNone || host.Tag>>4 != vram.Tag>>4
}

// First returns the completion of a clock that goes to its reader, where all
// readers except the target share one channel. FirstReady reports whether it
// takes the completion from VRAM.
func First(host, vram port.Completion) port.Completion {
	if host.Status != port.CplNone {
		vram = host
	}
	return vram
}

// FirstReady is CompletionReady for First.
func FirstReady(host, vram port.Completion) bool {
	return host.Status == port.CplNone || vram.Tag>>4 == ReadTarget
}
