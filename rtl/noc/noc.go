// Package noc is the network between the blocks that move data and the two
// places where data is: VRAM and, through the initiator port, host memory.
//
// A request goes where bit 63 of its address says: to host memory if it is set.
// Readers and writers see a header accepted, writers then their beats, in the
// order of their headers; a completion comes back by the reader's number in
// bits 5..4 of the tag. An arbiter is a block that holds whose turn it is; who
// is granted and what is ready are pure functions of the blocks' outputs, which
// the parent calls.
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

// Writers, as an Owner has them. WriteMessage writes to host memory only.
const (
	WriteDMA = iota
	WriteFence0
	WriteFence1
	WriteMessage
)

// Sources of the initiator port: the readers ReadCP0, ReadCP1 and ReadDMA, and from
// HostWrite on the writers.
const (
	HostNobody = 3 // no source
	HostWrite  = 4

	HostWriteDMA     = HostWrite + WriteDMA
	HostWriteFence0  = HostWrite + WriteFence0
	HostWriteFence1  = HostWrite + WriteFence1
	HostWriteMessage = HostWrite + WriteMessage
)

// A Turn is the state of an arbiter.
type Turn struct {
	At   uint8 `w:"3"` // the source that is asked first
	Hold bool  // At was granted and not yet taken: it keeps the grant
}

// Grant returns the source that is granted of those whose bit is set in valid,
// the first from t.At on. It is meaningful if valid is not 0.
func Grant(valid uint8, t Turn) uint8 {
	// In most clocks the source whose turn it is has something, or none has.
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

// next returns an arbiter's state after a clock in which valid was asked for
// and g was granted.
func next(valid, g uint8, t Turn, taken bool) Turn {
	if valid == 0 {
		return t
	}
	if taken {
		return Turn{At: (g + 1) & 7}
	}
	return Turn{At: g, Hold: true}
}

// Outward returns whether r is a request that goes to host memory.
func Outward(r port.Request) bool { return r.Kind != port.None && r.Addr&Host != 0 }

// Inward returns whether r is a request that goes to VRAM.
func Inward(r port.Request) bool { return r.Kind != port.None && r.Addr&Host == 0 }

// Tag returns the tag of a request of a reader, its number above the local one.
func Tag(r port.Request, reader uint8) uint8 { return reader<<4 | r.Tag&15 }

// Free returns whether a tag is none of those in busy.
func Free(tag uint8, busy uint64) bool { return busy>>tag&1 == 0 }

// Open returns which of the headers in valid may be granted. While the engines
// are closed those are the one that holds the grant and those of the sources in
// always.
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

// Completion returns what a reader gets of the two completions that arrive in
// a clock, with its own tag. The host's has precedence; VRAM's waits then.
func Completion(host, vram port.Completion, reader uint8) port.Completion {
	if host.Tag>>4 == reader && host.Status != port.CplNone {
		vram = host
	}
	return Own(vram, reader)
}

// Own returns what a reader gets of a completion, with its own tag.
func Own(cpl port.Completion, reader uint8) port.Completion {
	if cpl.Tag>>4 != reader {
		cpl.Status = port.CplNone
	}
	cpl.Tag &= 15
	return cpl
}

// CompletionReady returns whether the completion from VRAM is taken.
func CompletionReady(host, vram port.Completion) bool {
	return host.Status == port.CplNone || host.Tag>>4 != vram.Tag>>4
}

// First returns the one of the two completions that arrive in a clock which goes to
// its reader, where there is one way to all readers but the target; FirstReady
// whether the completion from VRAM is taken there.
func First(host, vram port.Completion) port.Completion {
	if host.Status != port.CplNone {
		vram = host
	}
	return vram
}

// FirstReady is CompletionReady where First decides.
func FirstReady(host, vram port.Completion) bool {
	return host.Status == port.CplNone || vram.Tag>>4 == ReadTarget
}
