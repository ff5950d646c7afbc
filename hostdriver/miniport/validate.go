package miniport

import (
	"errors"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// addressBytes is the size of an address field.
const addressBytes = 8

// validator checks the copy of one command. The rules:
//
//   - The command consists of complete packets with opcodes that an application
//     may use, valid for the command processor.
//   - Every address field has exactly one patch and every patch an address
//     field. The user's bytes in it are ignored.
//   - A patch's allocation is opened by the context's device and contains all
//     bytes that the packet accesses from AllocationOffset on. It contains the
//     address itself even if nothing is accessed. A write needs the list's
//     WriteOperation.
//   - SplitOffsets do not decrease and are the start of a packet. A use is in
//     the portion that its SplitOffset starts: the kernel makes a portion's
//     allocations resident for that portion only.
//   - The word of a TIMESTAMP or a PREDICATE is not in an allocation that may be in the
//     aperture: the hardware does not translate their addresses.
//   - A 2D packet needs its surfaces set in its portion, since other buffers
//     may run between two portions.
//   - A PREDICATE may skip only complete packets of its portion; neither a
//     SET_STATE, since later packets must not depend on it, nor another PREDICATE.
//
// Design note: surfaces are checked at SET_STATE, by the extent of their clip,
// not at each 2D packet, because the hardware accesses nothing outside the
// clip. The coordinates of a 2D packet are therefore harmless.
type validator struct {
	device *device
	allocs []kmddi.AllocationList

	cmd     []byte                // the copy, with checked address fields zeroed
	patches []kmddi.PatchLocation // the copy
	at      []uint32              // by dword of cmd: 1 + index of the patch there, 0 for none

	off      uint32    // start of the packet being checked, in bytes
	next     int       // first patch after the current portion
	used     int       // number of patches whose field was found
	portions []portion // started so far; at the end one more, after the last
	surfaces [2]surface
	skipEnd  uint32 // end of the packets that the last PREDICATE may skip, in bytes
	direct   bool   // the packet being checked reads or writes a word at its address
}

// portion is a part of the command that the kernel may submit separately.
type portion struct {
	start uint32 // in bytes, in the command
	patch int    // index of its first patch
}

// surface is the tracked state of a surface of the context.
type surface struct {
	set      bool // in this portion
	ever     bool // in this buffer
	format   pkt.Format
	writable bool
}

// reset prepares for a command. It keeps the memory.
func (v *validator) reset(d *device, allocs []kmddi.AllocationList) {
	*v = validator{
		device: d, allocs: allocs,
		cmd: v.cmd[:0], patches: v.patches[:0], at: v.at[:0],
		portions: append(v.portions[:0], portion{}),
	}
}

// fetch copies the command and the patch list. It reads each byte and element
// once.
func (v *validator) fetch(cmd ddi.UserMemory, list kmddi.UserPatchList) ddi.Status {
	n, patches := cmd.Size(), list.Len()
	switch {
	case n < 0 || n%4 != 0:
		return ddi.StatusInvalidUserBuffer
	case n > maxCommand || patches < 0 || patches > n/4:
		return ddi.StatusInvalidParameter
	}
	v.cmd = resize(v.cmd, n)
	if cmd.Read(0, v.cmd) != ddi.StatusSuccess {
		return ddi.StatusInvalidUserBuffer
	}
	v.patches = resize(v.patches, patches)
	for i := range v.patches {
		p, s := list.At(i)
		if s != ddi.StatusSuccess {
			return ddi.StatusInvalidUserBuffer
		}
		v.patches[i] = p
	}
	return ddi.StatusSuccess
}

// resize returns a slice of n zero elements. It reuses the memory of s if
// possible.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// validate checks the data copied by fetch.
func (v *validator) validate() ddi.Status {
	if s := v.index(); s != ddi.StatusSuccess {
		return s
	}
	for int(v.off) < len(v.cmd) {
		if s := v.beginPortion(); s != ddi.StatusSuccess {
			return s
		}
		n, s := v.packet(v.cmd[v.off:])
		if s != ddi.StatusSuccess {
			return s
		}
		v.off += uint32(n)
	}
	if v.used != len(v.patches) || v.skipEnd > v.off {
		return ddi.StatusInvalidParameter
	}
	v.portions = append(v.portions, portion{start: v.off, patch: len(v.patches)})
	return ddi.StatusSuccess
}

// index records the offset of each patch.
func (v *validator) index() ddi.Status {
	v.at = resize(v.at, len(v.cmd)/4)
	split := uint32(0)
	for i, p := range v.patches {
		if p.PatchOffset%4 != 0 || len(v.cmd) < addressBytes || uint64(p.PatchOffset) > uint64(len(v.cmd)-addressBytes) {
			return ddi.StatusInvalidParameter
		}
		if p.SplitOffset < split {
			return ddi.StatusInvalidParameter
		}
		// If a field has two patches, one remains unused.
		v.at[p.PatchOffset/4] = uint32(i) + 1
		split = p.SplitOffset
	}
	return ddi.StatusSuccess
}

// beginPortion starts a portion if the next packet is at a SplitOffset.
func (v *validator) beginPortion() ddi.Status {
	if v.next == len(v.patches) || v.patches[v.next].SplitOffset > v.off {
		return ddi.StatusSuccess
	}
	if v.patches[v.next].SplitOffset < v.off { // inside the previous packet
		return ddi.StatusInvalidParameter
	}
	if v.skipEnd > v.off {
		return ddi.StatusInvalidParameter
	}
	p := portion{start: v.off, patch: v.next}
	if v.off > 0 {
		v.portions = append(v.portions, p)
	}
	for v.next < len(v.patches) && v.patches[v.next].SplitOffset == v.off {
		v.next++
	}
	for i := range v.surfaces {
		v.surfaces[i].set = false
	}
	return ddi.StatusSuccess
}

// packet checks the packet at the start of b and returns its size in bytes.
func (v *validator) packet(b []byte) (int, ddi.Status) {
	l, ok := pkt.Lookup(uint8(le.Uint32(b) >> 24))
	if !ok {
		return 0, ddi.StatusIllegalInstruction
	}
	if l.Privileged || l.Op == pkt.OpSignal { // a SIGNAL raises events
		return 0, ddi.StatusPrivilegedInstruction
	}
	for _, f := range l.Fields {
		if i := 4 * f.Dword; f.Kind.Address() && i+addressBytes <= len(b) {
			clear(b[i : i+addressBytes])
		}
	}
	o, rest, err := v.decode(l.Op, b)
	if err != nil {
		return 0, decodeStatus(l, b, err)
	}
	if o.status != ddi.StatusSuccess {
		return 0, o.status
	}
	v.direct = l.Op == pkt.OpTimestamp || l.Op == pkt.OpPredicate
	if s := v.skipped(l.Op, uint32(len(b)-len(rest)), o.skips); s != ddi.StatusSuccess {
		return 0, s
	}
	for _, f := range l.Fields {
		if !f.Kind.Address() {
			continue
		}
		al, s := v.use(v.off+4*uint32(f.Dword), f, o.bytes)
		if s != ddi.StatusSuccess {
			return 0, s
		}
		if l.Op == pkt.OpSetState {
			v.surfaces[o.set.Surface] = surface{set: true, ever: true, format: o.set.Format, writable: al.WriteOperation}
		}
	}
	return len(b) - len(rest), ddi.StatusSuccess
}

// skipped checks a packet of the given size in bytes against the PREDICATE that
// may skip it, and records the dwords that a PREDICATE may skip itself.
func (v *validator) skipped(op uint8, bytes uint32, dwords uint16) ddi.Status {
	end, inside := v.off+bytes, v.off < v.skipEnd
	switch {
	case inside && (end > v.skipEnd || op == pkt.OpSetState || op == pkt.OpPredicate):
		return ddi.StatusInvalidParameter
	case op == pkt.OpPredicate:
		v.skipEnd = end + 4*uint32(dwords)
	}
	return ddi.StatusSuccess
}

// decodeStatus returns the status for a packet that does not decode, at the
// start of b, with the opcode of l.
func decodeStatus(l pkt.Layout, b []byte, err error) ddi.Status {
	body := le.Uint32(b) & pkt.HeaderBody
	switch {
	case errors.Is(err, pkt.ErrLength) && (l.Variable || body == l.Body):
		return ddi.StatusInvalidUserBuffer // it runs past the end
	case errors.Is(err, pkt.ErrAlign) || errors.Is(err, pkt.ErrRange):
		return ddi.StatusInvalidParameter
	}
	return ddi.StatusIllegalInstruction
}

// operands are those of a packet, without its addresses.
type operands struct {
	bytes  uint64       // accessed from each address on
	skips  uint16       // dwords that a PREDICATE may skip
	set    pkt.SetState // of a SET_STATE
	status ddi.Status   // of their check
}

// decode decodes the packet at the start of b, and checks its operands except the addresses. An
// error of package pkt comes before the status. Each opcode has its own type: a pkt.Packet would
// be allocated.
func (v *validator) decode(op uint8, b []byte) (o operands, rest []byte, err error) {
	switch op {
	case pkt.OpNOP:
		_, rest, err = pkt.DecodeNOP(b)
	case pkt.OpSetState:
		o.set, rest, err = pkt.DecodeSetState(b)
		o.bytes = extent(o.set)
	case pkt.OpCopy:
		var p pkt.Copy
		p, rest, err = pkt.DecodeCopy(b)
		o.bytes, o.status = v.length(p.Bytes)
	case pkt.OpFill:
		var p pkt.Fill
		p, rest, err = pkt.DecodeFill(b)
		o.bytes, o.status = v.length(p.Bytes)
	case pkt.OpCopy2D:
		_, rest, err = pkt.DecodeCopy2D(b)
		o.status = v.copy2D()
	case pkt.OpFill2D:
		_, rest, err = pkt.DecodeFill2D(b)
		o.status = v.fill2D()
	case pkt.OpWriteReg:
		var p pkt.WriteReg
		p, rest, err = pkt.DecodeWriteReg(b)
		o.status = writeReg(p)
	case pkt.OpTimestamp:
		_, rest, err = pkt.DecodeTimestamp(b)
		o.bytes = 8
	case pkt.OpPredicate:
		var p pkt.Predicate
		p, rest, err = pkt.DecodePredicate(b)
		o.bytes, o.skips = 8, p.Dwords
	default:
		o.status = ddi.StatusIllegalInstruction
	}
	return o, rest, err
}

// extent returns the number of bytes from a surface's base to the end of its
// clip.
func extent(p pkt.SetState) uint64 {
	if p.X1 == 0 || p.Y1 == 0 {
		return 0
	}
	return uint64(p.Y1-1)*uint64(p.Pitch) + uint64(p.X1)<<p.Format
}

func (v *validator) length(bytes uint32) (uint64, ddi.Status) {
	if uint64(bytes) > v.device.adapter.caps.maxLength() {
		return 0, ddi.StatusInvalidParameter
	}
	return uint64(bytes), ddi.StatusSuccess
}

func (v *validator) copy2D() ddi.Status {
	if s := v.needSurface(pkt.Source); s != ddi.StatusSuccess {
		return s
	}
	if s := v.needSurface(pkt.Dest); s != ddi.StatusSuccess {
		return s
	}
	if !v.surfaces[pkt.Dest].writable || v.surfaces[pkt.Source].format != v.surfaces[pkt.Dest].format {
		return ddi.StatusInvalidParameter
	}
	return ddi.StatusSuccess
}

func (v *validator) fill2D() ddi.Status {
	if s := v.needSurface(pkt.Dest); s != ddi.StatusSuccess {
		return s
	}
	if !v.surfaces[pkt.Dest].writable || v.surfaces[pkt.Dest].format > pkt.Format64 {
		return ddi.StatusInvalidParameter
	}
	return ddi.StatusSuccess
}

func (v *validator) needSurface(i pkt.Surface) ddi.Status {
	switch s := v.surfaces[i]; {
	case s.set:
		return ddi.StatusSuccess
	case s.ever:
		return ddi.StatusInvalidParameter
	}
	return ddi.StatusIllegalInstruction
}

// writeReg allows writes to scratch registers only.
func writeReg(p pkt.WriteReg) ddi.Status {
	switch p.Off {
	case idreg.Base + idreg.Scratch0, idreg.Base + idreg.Scratch1, idreg.Base + idreg.Scratch2, idreg.Base + idreg.Scratch3:
		return ddi.StatusSuccess
	}
	return ddi.StatusPrivilegedInstruction
}

// use checks the patch of the address field f, at off in the command. bytes are
// accessed from the address on. It returns the allocation.
func (v *validator) use(off uint32, f pkt.Field, bytes uint64) (kmddi.AllocationList, ddi.Status) {
	i := v.at[off/4]
	if i == 0 {
		return kmddi.AllocationList{}, ddi.StatusInvalidParameter
	}
	v.used++
	p := v.patches[i-1]
	if now := v.portions[len(v.portions)-1]; p.SplitOffset != now.start {
		return kmddi.AllocationList{}, ddi.StatusInvalidParameter
	}
	if uint64(p.AllocationIndex) >= uint64(len(v.allocs)) {
		return kmddi.AllocationList{}, ddi.StatusInvalidParameter
	}
	al := v.allocs[p.AllocationIndex]
	o, ok := openedOf(al.DeviceSpecificAllocation)
	if !ok || o.device != v.device {
		return kmddi.AllocationList{}, ddi.StatusInvalidHandle
	}
	start, size := uint64(p.AllocationOffset), o.allocation.desc.Bytes
	if start >= size || bytes > size-start || f.Align > 1 && start%f.Align != 0 {
		return kmddi.AllocationList{}, ddi.StatusInvalidParameter
	}
	if v.direct && v.device.adapter.translates() && o.allocation.mapped() {
		return kmddi.AllocationList{}, ddi.StatusInvalidParameter
	}
	if f.Kind == pkt.AddrWrite && !al.WriteOperation {
		return kmddi.AllocationList{}, ddi.StatusInvalidParameter
	}
	return al, ddi.StatusSuccess
}
