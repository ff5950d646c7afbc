// Package port declares the two ports through which a PCIe function is connected
// to its host, as its RTL, its Verilog and every transport see them.
//
// The target port carries the host's requests to the function: configuration and
// memory requests in, completions out. The initiator port carries the function's
// requests to the host: its reads and writes out, completions in. An MSI-X
// interrupt is a MemWrite at the initiator, so it cannot pass data that was
// written before it.
//
// Data moves in beats of 8 bytes. Byte lane i of a beat is the byte at an address
// that is i modulo 8. So the first beat of a request at an address that is 4
// modulo 8 uses lanes 4 to 7.
package port

// MaxLen is the largest length of a request, in dwords. No request crosses a
// multiple of 4*MaxLen bytes, so none crosses a 4 KiB boundary (PCIe 3.0 §2.2.7).
const MaxLen = 32

// Kind is the kind of a Request. None means that there is none.
type Kind uint8

// The kinds of request. Configuration requests appear at the target only.
const (
	None Kind = iota
	MemRead
	MemWrite
	CfgRead
	CfgWrite
)

// A Request is the header of a transaction. It is valid in a clock in which Kind
// is not None, and taken in a clock in which the receiver is also ready.
//
//	Kind  of the request
//	Tag   of a read or a configuration request, repeated in its completions
//	Len   in dwords, 1 to MaxLen; 1 for configuration
//	Addr  in bytes, a multiple of 4; a configuration request has the offset of
//	      the dword in configuration space, 0 to 0xffc
type Request struct {
	Kind Kind
	Tag  uint8
	Len  uint8
	Addr uint64
}

// A Beat is 8 bytes of a write. The beats of writes have their own stream, in the
// order of the headers, Beats(req) for each.
//
//	Valid   there is a beat
//	Last    it is the last beat of its write
//	Enable  bit i: lane i is written; only the first and the last beat of a
//	        write may have lanes off, and the enabled lanes are contiguous
type Beat struct {
	Valid  bool
	Last   bool
	Enable uint8
	Data   uint64
}

// Status is the outcome of a request; CplNone means that there is no
// completion in this clock (PCIe 3.0 §2.2.9 has the other three).
type Status uint8

// The outcomes. A MemWrite has no completion.
const (
	CplNone Status = iota
	CplSuccess
	CplUnsupported
	CplAbort
)

// A Completion is one beat of an answer. A read has Beats(req) of them, with the
// lanes of the request. A configuration write has one, whose data is ignored. A
// request that fails ends with the first completion that is not CplSuccess, with
// Last set. The beats of one request are in order; between tags any order is
// legal.
type Completion struct {
	Tag    uint8
	Status Status
	Last   bool
	Data   uint64
}

// Beats returns the number of data beats of a request.
func Beats(addr uint64, dwords uint8) uint8 {
	return (uint8(addr>>2)&1 + dwords + 1) >> 1
}

// A Device is a PCIe function at its ports. Target and Initiator are functions of
// the registers only and may be called any number of times. Tick is one clock.
type Device interface {
	// Target returns the outputs of the target port: a completion, which is taken
	// if Tick gets cplReady, and whether a header and a beat would be taken in this
	// clock. The host must eventually take each completion; until then the device
	// may stall.
	Target() (cpl Completion, reqReady, dataReady bool)

	// Initiator returns the outputs of the initiator port: a header and a beat,
	// each taken if Tick gets its ready. Completions are always accepted.
	Initiator() (req Request, beat Beat)

	// Tick advances one clock. The first three arguments are the target
	// port's inputs, the others the initiator port's.
	Tick(req Request, beat Beat, cplReady bool, cpl Completion, reqReady, dataReady bool)

	// IdleFor returns the number of clocks from now that only count, as long as no
	// input arrives: 0 if the next one may do more, and math.MaxUint64 if only an
	// input can wake the device.
	IdleFor() uint64

	// Skip skips n clocks without input, n at most IdleFor().
	Skip(n uint64)
}

// Since returns the clock, plus 1, from which a header has been offered without a
// break. s is its result in the previous clock, 0 at first. It returns 0 if no
// header is offered in clock now.
func Since(s, now uint64, there bool) uint64 {
	switch {
	case !there:
		return 0
	case s == 0:
		return now + 1
	}
	return s
}
