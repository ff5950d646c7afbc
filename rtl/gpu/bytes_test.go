package gpu_test

import (
	"bytes"
	"flag"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
	"github.com/hilgpu/hilgpu/rtl/wave/wavetest"
)

var deviceBuffers = flag.Int("device.buffers", 3000, "buffers of random bytes that TestRandomBytes has executed")

// Host memory of TestRandomBytes, from memBase on, and VRAM. The first node has
// windows on its own parts; what is outside of them holds a secret.
const (
	bytesCode   = 0x8000 // indirect buffers
	bytesHost   = 0x10000
	bytesVRAM   = 0x8000
	bytesSize   = 0x8000 // of a window
	bytesOther  = 0x30000
	bytesOther2 = 0x38000
	otherSize   = 600
)

var secret = []byte("not for the first node: ")

// A vandal has the first node execute random bytes while the second one works.
type vandal struct {
	*machine
	vram, mem []byte // as they were
	id        [2]uint32
}

func newVandal(t *testing.T) *vandal {
	c := small()
	c.VRAMBytes = 1 << 16
	v := &vandal{machine: boot(t, c, 1)}
	v.skip = true
	v.vram = bytes.Repeat(secret, int(c.VRAMBytes)/len(secret)+1)[:c.VRAMBytes]
	v.g.PokeVRAM(0, v.vram)
	copy(v.machine.mem, bytes.Repeat(secret, memSize/len(secret)))
	v.mem = bytes.Clone(v.machine.mem)
	return v
}

// other gives the second node a copy from host memory and back.
func (v *vandal) other() {
	v.id[1]++
	for i := range otherSize {
		v.machine.mem[bytesOther+i] = byte(v.rng.Uint32())
	}
	v.submit(1,
		pkt.Copy{Src: at(bytesOther), Dst: at(bytesOther + 0x1001), Bytes: otherSize},
		pkt.Copy{Src: at(bytesOther + 0x1001), Dst: at(bytesOther2), Bytes: otherSize}, fence(1, v.id[1]))
}

// unharmed checks that the second node has done its work.
func (v *vandal) unharmed() {
	v.run(20000, func() bool { return v.fence(1) == uint64(v.id[1]) })
	m := v.machine.mem
	require.Equal(v.t, m[bytesOther:][:otherSize], m[bytesOther2:][:otherSize])
}

// bodyOf returns the dwords that follow the header of a packet, 0 for a NOP or an
// opcode that there is not.
func bodyOf(op uint32) uint32 {
	l, _ := pkt.Lookup(uint8(op))
	if l.Variable {
		return 0
	}
	return l.Body
}

// dwords returns random dwords of which many begin packets, with fields that may
// be anything; near, if it is not nil, is an address that is likely.
func (v *vandal) dwords(n int, near func() uint64) []byte {
	var b []byte
	for len(b) < n {
		op := pkt.OpNOP + v.rng.Uint32N(pkt.OpPredicate)
		body := bodyOf(op)
		switch v.rng.IntN(20) {
		case 0:
			b = put(b, v.rng.Uint32())
			continue
		case 1:
			body = v.rng.Uint32N(12)
		case 2:
			op = v.rng.Uint32N(pkt.OpRestoreState + 2)
			body = bodyOf(op)
		}
		b = put(b, op<<24|body)
		start := len(b)
		for range body {
			b = put(b, v.rng.Uint32()>>v.rng.IntN(32))
		}
		if near != nil {
			v.likely(uint8(op), b[start-4:], near)
		}
	}
	return b[:n]
}

// likely gives most fields of a packet values that it may have.
func (v *vandal) likely(op uint8, p []byte, near func() uint64) {
	l, _ := pkt.Lookup(op)
	for _, f := range l.Fields {
		switch at := 4 * f.Dword; {
		case f.Dword == 0 || at+4 > len(p) || v.rng.IntN(10) == 0:
		case f.Kind.Address() && at+8 <= len(p):
			le.PutUint64(p[at:], near()&^(max(f.Align, 1)-1))
		case f.Mask>>32 == 0:
			shift := bits.TrailingZeros64(f.Mask)
			n := v.rng.Uint32N(70) << shift & uint32(f.Mask)
			le.PutUint32(p[at:], le.Uint32(p[at:])&(1<<shift-1)|n)
		}
	}
}

// near is an address in a window, or at its edges.
func (v *vandal) near() uint64 {
	base := uint64(bytesVRAM)
	if v.rng.IntN(2) == 0 {
		base = at(bytesHost)
	}
	if v.rng.IntN(4) == 0 {
		return base + bytesSize*v.rng.Uint64N(2) + v.rng.Uint64N(100) - 50
	}
	return base + v.rng.Uint64N(bytesSize)
}

// faulted reports whether a node stopped since it was last asked for.
func (v *vandal) faulted() bool {
	for _, m := range v.msgs {
		if m == 0x51 {
			return true
		}
	}
	return false
}

// ring has the node execute random bytes from its ring, and resets it.
func (v *vandal) ring() {
	v.submitBytes(0, v.dwords(4*(1+v.rng.IntN(60)), nil))
	end := v.clock + 300
	v.run(301, func() bool { return v.faulted() || v.clock >= end })
	v.reset()
}

// reset resets the node whatever it does and has it run its ring again.
func (v *vandal) reset() {
	v.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlReset)
	v.run(100000, func() bool { return v.node(0, cpreg.Ctl) == 0 })
	v.startNode(0)
}

// guard opens the windows of the first node, whose fences begin again.
func (v *vandal) guard() {
	v.id[0] = 0
	clear(v.machine.mem[fenceAt:][:8])
	for _, r := range [][2]uint32{{cpreg.Ctl, 0}, {cpreg.Fence, 0}, {cpreg.LineHi, 0}, {cpreg.Ctl, cpreg.CtlRun | cpreg.CtlProtect}} {
		v.writeReg(uint64(cpreg.Base+r[0]), r[1])
	}
	v.submit(0,
		pkt.SetWindow{Index: 1, Writable: true, Base: bytesVRAM, Size: bytesSize},
		pkt.SetWindow{Index: 3, Writable: true, Base: at(bytesHost), Size: bytesSize})
	v.idle()
}

// guarded has the node execute random bytes in an indirect buffer, behind which
// a fence has to come: after a fault, without the buffer.
func (v *vandal) guarded() {
	n := 4 * (1 + v.rng.IntN(60))
	copy(v.machine.mem[bytesCode:], v.dwords(n, v.near))
	v.id[0]++
	v.submit(0, pkt.Indirect{Addr: at(bytesCode), Dwords: uint32(n / 4)}, fence(0, v.id[0]))
	done := func() bool { return v.fence(0) == uint64(v.id[0]) }
	end := v.clock + 20000
	v.run(20001, func() bool { return v.faulted() || done() || v.clock >= end })
	switch {
	case done():
		return
	case !v.faulted(): // a rectangle of very many rows
		v.reset()
		v.guard()
		return
	}
	rptr := v.node(0, cpreg.Rptr)
	for i := range uint32(4) { // the INDIRECT
		put(v.machine.mem[ringAt+4*((rptr+i)%(1<<ringLog2/4)):][:0], pkt.OpNOP<<24)
	}
	v.writeReg(cpreg.Base+cpreg.FaultInfo, 0)
	v.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlRun|cpreg.CtlProtect)
	v.run(20000, done)
}

// allowed says whether the device may have sent a request to the host.
func (v *vandal) allowed(r port.Request) bool {
	if r.Addr == messages {
		return true
	}
	for _, s := range []refmodel.Range{
		span(ringAt, 2<<ringLog2), span(fenceAt, 16), span(bytesCode, 0x1000), span(bytesHost, bytesSize), span(bytesOther, 0x10000),
	} {
		if s.Holds(r.Addr-memBase, 4*uint64(r.Len)) {
			return true
		}
	}
	return false
}

// contained checks that nothing outside of the windows was written, and that
// nothing of it came into them.
func (v *vandal) contained() {
	vram := make([]byte, len(v.vram))
	v.g.PeekVRAM(0, vram)
	inside := vram[bytesVRAM:][:bytesSize]
	require.Equal(v.t, v.vram[:bytesVRAM], vram[:bytesVRAM])
	require.Equal(v.t, v.vram[bytesVRAM+bytesSize:], vram[bytesVRAM+bytesSize:])
	host := v.machine.mem[bytesHost:][:bytesSize]
	require.Equal(v.t, v.mem[bytesHost+bytesSize:bytesOther], v.machine.mem[bytesHost+bytesSize:bytesOther])
	require.False(v.t, bytes.Contains(inside, secret) || bytes.Contains(host, secret))
}

// TestRandomBytes has the first node execute random bytes, half of them from its
// ring and half from indirect buffers that windows guard. Nothing stops the
// simulation, the guarded ones reach nothing but the windows, and the second
// node works on.
func TestRandomBytes(t *testing.T) {
	v := newVandal(t)
	dev := wavetest.New(t).Attach(v.g)
	v.dev = dev
	step := func(i int, buffer func()) {
		if i%64 == 0 {
			v.other()
		}
		v.msgs, v.log = nil, nil
		v.writeReg(intcreg.Base+intcreg.Status, intcreg.All)
		buffer()
		if i%64 == 63 {
			v.unharmed()
		}
	}
	for i := range *deviceBuffers / 2 {
		step(i, v.ring)
	}
	v.idle()
	v.guard()
	dev.PokeVRAM(0, v.vram)
	dev.PokeVRAM(bytesVRAM, make([]byte, bytesSize))
	copy(v.machine.mem[bytesHost+bytesSize:bytesOther], v.mem[bytesHost+bytesSize:])
	clear(v.machine.mem[bytesHost:][:bytesSize])
	v.allow = v.allowed
	for i := range *deviceBuffers / 2 {
		step(i, v.guarded)
		if i%1024 == 0 {
			v.contained()
		}
	}
	v.contained()
}
