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

var deviceBuffers = flag.Int("device.buffers", 3000, "number of random buffers that TestRandomBytes executes")

// Layout of host memory, from memBase, and of VRAM in TestRandomBytes. The windows of the
// first node allow its own parts; the rest of memory holds a secret.
const (
	bytesCode   = 0x8000 // indirect buffers
	bytesHost   = 0x10000
	bytesVRAM   = 0x8000
	bytesSize   = 0x8000 // size of a window
	bytesOther  = 0x30000
	bytesOther2 = 0x38000
	otherSize   = 600
)

var secret = []byte("not for the first node: ")

// A fuzzer makes the first node execute random bytes while the second one works.
type fuzzer struct {
	*machine
	vram, mem []byte // initial contents
	id        [2]uint32
}

func newFuzzer(t *testing.T) *fuzzer {
	c := small()
	c.VRAMBytes = 1 << 16
	v := &fuzzer{machine: boot(t, c, 1)}
	v.skip = true
	v.vram = bytes.Repeat(secret, int(c.VRAMBytes)/len(secret)+1)[:c.VRAMBytes]
	v.g.PokeVRAM(0, v.vram)
	copy(v.machine.mem, bytes.Repeat(secret, memSize/len(secret)))
	v.mem = bytes.Clone(v.machine.mem)
	return v
}

// copyOther makes the second node copy data from host memory to VRAM and back.
func (v *fuzzer) copyOther() {
	v.id[1]++
	for i := range otherSize {
		v.machine.mem[bytesOther+i] = byte(v.rng.Uint32())
	}
	v.submit(1,
		pkt.Copy{Src: at(bytesOther), Dst: at(bytesOther + 0x1001), Bytes: otherSize},
		pkt.Copy{Src: at(bytesOther + 0x1001), Dst: at(bytesOther2), Bytes: otherSize}, fence(1, v.id[1]))
}

// checkOther checks that the second node has done its work.
func (v *fuzzer) checkOther() {
	v.run(20000, func() bool { return v.fence(1) == uint64(v.id[1]) })
	m := v.machine.mem
	require.Equal(v.t, m[bytesOther:][:otherSize], m[bytesOther2:][:otherSize])
}

// bodyOf returns the body length of a packet in dwords, or 0 for a NOP or an unknown
// opcode.
func bodyOf(op uint32) uint32 {
	l, _ := pkt.Lookup(uint8(op))
	if l.Variable {
		return 0
	}
	return l.Body
}

// dwords returns random dwords. Many of them begin packets, with arbitrary fields. near,
// if not nil, returns a likely address.
func (v *fuzzer) dwords(n int, near func() uint64) []byte {
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
			v.plausible(uint8(op), b[start-4:], near)
		}
	}
	return b[:n]
}

// plausible sets most fields of a packet to legal values.
func (v *fuzzer) plausible(op uint8, p []byte, near func() uint64) {
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

// near returns an address in or near a window.
func (v *fuzzer) near() uint64 {
	base := uint64(bytesVRAM)
	if v.rng.IntN(2) == 0 {
		base = at(bytesHost)
	}
	if v.rng.IntN(4) == 0 {
		return base + bytesSize*v.rng.Uint64N(2) + v.rng.Uint64N(100) - 50
	}
	return base + v.rng.Uint64N(bytesSize)
}

// faulted reports whether a node has stopped since the last call.
func (v *fuzzer) faulted() bool {
	for _, m := range v.msgs {
		if m == 0x51 {
			return true
		}
	}
	return false
}

// ring makes the node execute random bytes in its ring and resets it.
func (v *fuzzer) ring() {
	v.submitBytes(0, v.dwords(4*(1+v.rng.IntN(60)), nil))
	end := v.clock + 300
	v.run(301, func() bool { return v.faulted() || v.clock >= end })
	v.reset()
}

// reset resets the node in any state and makes it run its ring again.
func (v *fuzzer) reset() {
	v.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlReset)
	v.run(100000, func() bool { return v.node(0, cpreg.Ctl) == 0 })
	v.startNode(0)
}

// setWindows sets the windows of the first node and restarts its fences from 0.
func (v *fuzzer) setWindows() {
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

// runGuarded makes the node execute random bytes in an indirect buffer. The fence after the
// buffer must arrive; after a fault, the INDIRECT is replaced with NOPs.
func (v *fuzzer) runGuarded() {
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
	case !v.faulted(): // a rectangle of too many rows
		v.reset()
		v.setWindows()
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

// allowed reports whether the device may send a request to the host.
func (v *fuzzer) allowed(r port.Request) bool {
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

// checkContained checks that nothing outside the windows was written and that nothing from
// outside was copied into them.
func (v *fuzzer) checkContained() {
	vram := make([]byte, len(v.vram))
	v.g.PeekVRAM(0, vram)
	inside := vram[bytesVRAM:][:bytesSize]
	require.Equal(v.t, v.vram[:bytesVRAM], vram[:bytesVRAM])
	require.Equal(v.t, v.vram[bytesVRAM+bytesSize:], vram[bytesVRAM+bytesSize:])
	host := v.machine.mem[bytesHost:][:bytesSize]
	require.Equal(v.t, v.mem[bytesHost+bytesSize:bytesOther], v.machine.mem[bytesHost+bytesSize:bytesOther])
	require.False(v.t, bytes.Contains(inside, secret) || bytes.Contains(host, secret))
}

// TestRandomBytes makes the first node execute random bytes, half of them in its ring and
// half in guarded indirect buffers. Nothing stops the simulation, guarded packets access
// only the windows, and the second node continues to work.
func TestRandomBytes(t *testing.T) {
	v := newFuzzer(t)
	dev := wavetest.New(t).Attach(v.g)
	v.dev = dev
	step := func(i int, buffer func()) {
		if i%64 == 0 {
			v.copyOther()
		}
		v.msgs, v.log = nil, nil
		v.writeReg(intcreg.Base+intcreg.Status, intcreg.All)
		buffer()
		if i%64 == 63 {
			v.checkOther()
		}
	}
	for i := range *deviceBuffers / 2 {
		step(i, v.ring)
	}
	v.idle()
	v.setWindows()
	dev.PokeVRAM(0, v.vram)
	dev.PokeVRAM(bytesVRAM, make([]byte, bytesSize))
	copy(v.machine.mem[bytesHost+bytesSize:bytesOther], v.mem[bytesHost+bytesSize:])
	clear(v.machine.mem[bytesHost:][:bytesSize])
	v.allow = v.allowed
	for i := range *deviceBuffers / 2 {
		step(i, v.runGuarded)
		if i%1024 == 0 {
			v.checkContained()
		}
	}
	v.checkContained()
}
