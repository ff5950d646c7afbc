package hostile

import (
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

var allHeaders = flag.Bool("hostile.headers", false, "TestDecoders: all values of the reserved bits of a header, and all lengths")

// The allocation of TestDecoders: 64 KiB of VRAM. Each address is its start.
const (
	decodedBytes = 1 << 16
	decodedAt    = 0x10000
)

// whole holds a legal packet of each opcode, after both surfaces were set. Addresses are 0.
var whole = map[uint8][]uint32{
	pkt.OpNOP:          {0x01000003, 1, 2, 3},
	pkt.OpIndirect:     {0x02000003, 0, 0, 0},
	pkt.OpSetState:     {0x03000007, 1, 0, 0, 64, 2, 0, 16 | 16<<16},
	pkt.OpCopy:         {0x04000005, 0, 0, 0, 0, 24},
	pkt.OpCopy2D:       {0x05000003, 0, 0, 8 | 2<<16},
	pkt.OpFill:         {0x06000005, 0, 0, 24, 5, 6},
	pkt.OpFill2D:       {0x07000004, 0, 8 | 2<<16, 5, 6},
	pkt.OpWriteReg:     {0x08000002, 0x20, 7},
	pkt.OpTimestamp:    {0x09000002, 0, 0},
	pkt.OpPredicate:    {0x0a000003, 0, 0, 0},
	pkt.OpSignal:       {0x0b000005, 0, 0, 1, 0, 0},
	pkt.OpFence:        {0x10000004, 0, 0, 1, 0},
	pkt.OpSetWindow:    {0x11000005, 0, 0, 0, 0, 0},
	pkt.OpWaitFence:    {0x12000003, 0, 0, 0},
	pkt.OpSaveState:    {0x13000002, 0, 0},
	pkt.OpRestoreState: {0x14000002, 0, 0},
}

// decoders are the two that must agree: the validator of the miniport, and the command
// processor of an emulated GPU.
type decoders struct {
	t     *testing.T
	rig   *rig
	list  []kmddi.AllocationList
	board *bare.Board
	node  *bare.Node

	accepted, refused int
	status            map[ddi.Status]int
}

func newDecoders(t *testing.T) *decoders {
	r, err := newRig(false)
	require.NoError(t, err)
	al, err := r.open(r.dev, privdata.Allocation{Place: privdata.Local, Bytes: decodedBytes})
	require.NoError(t, err)
	d := &decoders{t: t, rig: r, status: map[ddi.Status]int{}}
	d.list = []kmddi.AllocationList{{DeviceSpecificAllocation: al, WriteOperation: true, SegmentID: 1, PhysicalAddress: decodedAt}}
	host := bare.NewHost(1 << 20)
	d.board, err = bare.Open(t.Context(), "emu", host, bare.With(boards.Options{}))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.board.Close()) })
	d.node = d.board.Node(0)
	d.start()
	return d
}

func (d *decoders) start() {
	require.NoError(d.t, d.node.Start(pkt.Host|bare.HostBase, 12, 0))
}

// prefix sets both surfaces.
func prefix() []uint32 {
	return slices.Concat([]uint32{0x03000007, 0, 0, 0, 64, 2, 0, 16 | 16<<16}, whole[pkt.OpSetState])
}

// addresses returns a patch for each address of a packet that is entirely in it.
func addresses(words []uint32, start int) (all []kmddi.PatchLocation) {
	l, ok := pkt.Lookup(uint8(words[start] >> 24))
	for _, f := range l.Fields {
		if at := start + f.Dword; ok && f.Kind.Address() && at+2 <= len(words) {
			all = append(all, kmddi.PatchLocation{PatchOffset: uint32(4 * at)})
		}
	}
	return all
}

// check gives both a packet and compares. policy is true if the validator may refuse what
// the GPU executes, because of the range of an access.
func (d *decoders) check(packet []uint32, policy bool) error {
	p := prefix()
	words := slices.Concat(p, packet)
	patches := slices.Concat(addresses(words, 0), addresses(words, len(p)/2), addresses(words, len(p)))
	var cmd []byte
	for _, w := range words {
		cmd = binary.LittleEndian.AppendUint32(cmd, w)
	}
	_, s := d.rig.table.Render(d.rig.thread, d.rig.ctx, kmddi.Render{
		Command: userCommand{cmd}, PatchLocationListIn: userList(patches), AllocationList: d.list,
		DmaBuffer: make([]byte, len(cmd)), PatchLocationListOut: make([]kmddi.PatchLocation, len(patches)),
	})
	cause := d.execute(patched(cmd, patches, d.list))
	d.status[s]++
	if cause == cpreg.CauseNone {
		d.accepted++
	} else {
		d.refused++
	}
	if agree(uint8(packet[0]>>24), cause, s, policy) {
		return nil
	}
	return fmt.Errorf("packet %#x: the GPU has cause %d, %s, and the miniport %w", packet[:min(len(packet), 8)], cause, cpreg.Causes[cause], s)
}

// agree reports whether a cause of the GPU and a status of the validator mean the same.
func agree(op uint8, cause uint32, s ddi.Status, policy bool) bool {
	switch s {
	case ddi.StatusSuccess:
		return cause == cpreg.CauseNone
	case ddi.StatusPrivilegedInstruction:
		// The kernel may use SIGNAL in a buffer. The GPU looks at lengths and reserved bits first.
		return op == pkt.OpSignal || cause == cpreg.CausePrivilege || cause == cpreg.CauseRegister ||
			cause == cpreg.CauseReserved || cause == cpreg.CauseLength
	case ddi.StatusIllegalInstruction:
		return cause == cpreg.CauseOpcode || cause == cpreg.CauseReserved || cause == cpreg.CauseLength || cause == cpreg.CauseState
	case ddi.StatusInvalidUserBuffer:
		return cause == cpreg.CauseLength || cause == cpreg.CauseReserved
	case ddi.StatusInvalidParameter:
		return policy || cause != cpreg.CauseNone
	}
	return false
}

// execute runs a buffer on the GPU and returns the cause of its fault.
func (d *decoders) execute(buffer []byte) uint32 {
	const at = 0x2000
	copy(d.board.Host.Mem[at:], buffer)
	err := d.node.Do(pkt.Indirect{Addr: pkt.Host | (bare.HostBase + at), Dwords: uint32(len(buffer) / 4)})
	if err == nil {
		return cpreg.CauseNone
	}
	cause := d.node.Reg(cpreg.FaultInfo) & cpreg.FaultCause
	require.NotZero(d.t, cause, err)
	d.start()
	return cause
}

// ranges reports whether dword i of a packet is an extent: of bytes, of a surface or of the
// dwords that a PREDICATE skips.
func ranges(op uint8, i int) bool {
	switch op {
	case pkt.OpCopy:
		return i == 5
	case pkt.OpFill:
		return i == 3
	case pkt.OpSetState:
		return i == 4 || i == 5 || i == 7
	}
	return false
}

// reservedBits yields values of the bits 23..16 of a header: none, each, all; or all values.
func reservedBits() []uint32 {
	all := []uint32{0, 0xff}
	for i := range 8 {
		all = append(all, 1<<i)
	}
	if *allHeaders {
		all = all[:0]
		for v := range uint32(256) {
			all = append(all, v)
		}
	}
	return all
}

// lengths returns lengths of the body of a packet of n dwords: to n+2, and edges; or all.
func lengths(n int) []int {
	if *allHeaders {
		n = 0xfffd
	}
	return lengthsTo(n)
}

// lengthsTo returns lengths to n+2, and edges.
func lengthsTo(n int) []int {
	var all []int
	for i := range n + 3 {
		all = append(all, i)
	}
	return append(all, 0xff, 0x100, 0xffff)
}

// holes returns opcodes that are not in the table: those next to one that is, and the last.
func holes() (all []uint32) {
	for op := range uint32(256) {
		next := whole[uint8(op-1)] != nil || whole[uint8(op+1)] != nil
		if whole[uint8(op)] == nil && (next || op == 0xff) {
			all = append(all, op)
		}
	}
	return all
}

// sized gives both a packet with another length of its body, also without its last dword.
func (d *decoders) sized(packet []uint32, n int) {
	packet = append(slices.Clone(packet), make([]uint32, 1<<16)...)[:1+n]
	packet[0] = packet[0]&0xffff0000 | uint32(n)
	require.NoError(d.t, d.check(packet, false))
	if n < 16 {
		require.NoError(d.t, d.check(packet[:max(1, n)], false), "a dword is missing")
	}
}

// TestDecoders compares the validator with the command processor of an emulated GPU: each
// opcode with reserved bits of the header, and the opcodes of the table and their neighbors
// with other lengths. What one calls malformed, the other does too.
//
// docs/validator.md: V06, V07.
func TestDecoders(t *testing.T) {
	d := newDecoders(t)
	for _, op := range slices.Sorted(maps.Keys(whole)) {
		require.NoError(t, d.check(whole[op], false))
	}
	for op := range uint32(256) {
		for _, reserved := range reservedBits() {
			packet := slices.Clone(whole[uint8(op)])
			if packet == nil {
				packet = []uint32{op << 24}
			}
			packet[0] |= reserved << 16
			require.NoError(t, d.check(packet, false))
		}
	}
	for _, op := range slices.Sorted(maps.Keys(whole)) {
		for _, n := range lengths(len(whole[op])) {
			d.sized(whole[op], n)
		}
	}
	known := maps.Clone(d.status)
	for _, op := range holes() {
		for _, n := range lengthsTo(8) {
			d.sized([]uint32{op << 24}, n)
		}
	}
	unknown := d.status[ddi.StatusIllegalInstruction] - known[ddi.StatusIllegalInstruction]
	known[ddi.StatusIllegalInstruction] += unknown
	assert.Equal(t, known, d.status, "a status of an unknown opcode")
	assert.Positive(t, unknown)
	t.Logf("%d accepted, %d refused; by status: %v", d.accepted, d.refused, d.status)
}

// TestOperandsOfDecoders changes one bit of each operand that is no address.
//
// docs/validator.md: V06.
func TestOperandsOfDecoders(t *testing.T) {
	d := newDecoders(t)
	for _, op := range slices.Sorted(maps.Keys(whole)) {
		for i := 1; i < len(whole[op]); i++ {
			if slices.ContainsFunc(addresses(whole[op], 0), func(p kmddi.PatchLocation) bool { return i == int(p.PatchOffset/4) || i == int(p.PatchOffset/4)+1 }) {
				continue
			}
			for bit := range 32 {
				packet := slices.Clone(whole[op])
				packet[i] ^= 1 << bit
				require.NoError(t, d.check(packet, ranges(op, i)))
			}
		}
	}
	t.Logf("%d accepted, %d refused; by status: %v", d.accepted, d.refused, d.status)
}
