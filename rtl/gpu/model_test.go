package gpu_test

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
)

// The opcodes, from docs/packets.md.
const (
	mNOP = 1 + iota
	mIndirect
	mSetState
	mCopy
	mCopy2D
	mFill
	mFill2D
	mWriteReg
	mTimestamp
	mPredicate
	mFence     = 0x10
	mSetWindow = 0x11
	mWaitFence = 0x12
	mSave      = 0x13
	mRestore   = 0x14
)

var mBody = map[uint32]uint32{
	mIndirect: 3, mSetState: 7, mCopy: 5, mCopy2D: 3, mFill: 5, mFill2D: 4,
	mWriteReg: 2, mTimestamp: 2, mPredicate: 3, mFence: 4, mSetWindow: 5, mWaitFence: 3,
	mSave: 2, mRestore: 2,
}

// A span is a range of GPU addresses.
type span struct{ at, n uint64 }

func (s span) holds(at, n uint64) bool { return at >= s.at && at+n <= s.at+s.n }

// mSurface is one half of a context's state.
type mSurface struct {
	set            bool
	base, pitch    uint64
	format         uint32
	x0, y0, x1, y1 int64
}

// mWindow is what packets in indirect buffers may reach.
type mWindow struct {
	span
	writable bool
}

// mFault is what a node latches, and badKnown says that the documents define
// the operand.
type mFault struct {
	cause    uint32
	addr     uint64
	op       uint32
	bad      uint64
	badKnown bool
}

// memory is what the nodes of the model share.
type memory struct {
	vram, mem []byte
	scratch   [4]uint32
}

func (m *memory) clone() *memory {
	c := *m
	c.vram = append([]byte(nil), m.vram...)
	c.mem = append([]byte(nil), m.mem...)
	return &c
}

// at returns the byte at a GPU address, nil if nothing is there.
func (m *memory) at(addr uint64) *byte {
	if addr&host != 0 {
		if off := addr&^host - memBase; off < uint64(len(m.mem)) {
			return &m.mem[off]
		}
		return nil
	}
	if addr < uint64(len(m.vram)) {
		return &m.vram[addr]
	}
	return nil
}

func (m *memory) dword(addr uint64) (v uint32, ok bool) {
	for i := range uint64(4) {
		b := m.at(addr + i)
		if b == nil {
			return 0, false
		}
		v |= uint32(*b) << (8 * i)
	}
	return v, true
}

// maxCost bounds the bytes that a batch writes.
const maxCost = 1 << 15

// mNode executes packets as docs/packets.md says, from the dwords in memory. It
// knows nothing of the RTL.
type mNode struct {
	id                   uint32
	hostBits, lengthBits int

	own, stamps span // in VRAM, own also in host memory at own.at of hostOwn
	hostOwn     span
	readable    []span

	base             uint64
	size, rptr, wptr uint32 // dwords
	surf             [2]mSurface
	protection       bool // the device has windows
	protect          bool // CTL.PROTECT
	guarded          bool // the packet at hand needs windows
	windows          [4]mWindow
	packets          uint32
	contexts         bool   // the device saves and restores state
	preemption       bool   // the device stops inside packets
	progress         uint32 // PROGRESS
	skip             uint32 // of it, what the packet at hand leaves out
	retired          uint64 // packets since the counters were cleared
	timeline         bool   // the device has fences of 64 bits
	fence            uint64 // the low half only, without
	peer             *mNode // the other node, nil if there is none
	done, stamped    int    // fences with IRQ, time stamps
	fault            mFault
	ibAddr           uint64 // next dword to retire
	ibLeft           uint32
	unclear          map[uint64]byte // bytes that a copy which failed may have written
	wild             bool            // the outcome is not defined, or another node's
	cost             uint64
}

func (n *mNode) reset() {
	n.rptr, n.wptr, n.packets = 0, 0, 0
	n.surf = [2]mSurface{}
	n.progress, n.skip = 0, 0
	n.windows, n.protect = [4]mWindow{}, false
	n.fault = mFault{}
	n.ibAddr, n.ibLeft = 0, 0
	n.base, n.size = 0, 0
}

// run executes the ring up to the write pointer or a fault.
func (n *mNode) run(m *memory) {
	for n.rptr != n.wptr && n.fault.cause == 0 && !n.wild {
		pos, end := n.rptr, n.wptr
		next := func() (addr uint64, ok bool) {
			addr = n.base + 4*uint64(pos)
			ok = pos != end
			pos = (pos + 1) % n.size
			return addr, ok
		}
		if n.packet(m, next, nil) {
			n.rptr = pos
			n.packets, n.retired = n.packets+1, n.retired+1
		}
	}
}

// packet executes one packet. left returns the dwords left of an indirect
// buffer, nil for the ring. It reports whether the packet retired.
func (n *mNode) packet(m *memory, next func() (uint64, bool), left func() uint32) bool {
	at, _ := next()
	hdr, ok := m.dword(at)
	if !ok {
		return n.stop(mFault{cpreg.CauseReadError, at, 0, at, true})
	}
	op, body := hdr>>24, hdr&0xffff
	want, known := mBody[op]
	known = known && (op != mSetWindow || n.protection) && (op != mWaitFence || n.timeline)
	known = known && (op != mSave && op != mRestore || n.contexts)
	n.guarded = n.protect && left != nil
	f := mFault{addr: at, op: hdr}
	switch {
	case !known && op != mNOP:
		f.cause = cpreg.CauseOpcode
	case hdr>>16&0xff != 0:
		f.cause = cpreg.CauseReserved
	case known && body != want || left != nil && body > left():
		f.cause = cpreg.CauseLength
	case left != nil && (op == mIndirect || op >= mFence):
		f.cause = cpreg.CausePrivilege
	}
	if f.cause != 0 {
		return n.stop(f)
	}
	var b []uint32
	for range body {
		a, ok := next()
		if !ok {
			n.wild = true // a packet that the host has not finished
			return false
		}
		v, ok := m.dword(a)
		if !ok {
			f.cause, f.bad, f.badKnown = cpreg.CauseReadError, a, true
			return n.stop(f)
		}
		b = append(b, v)
	}
	if op == mPredicate {
		return n.predicate(m, b, f, next, left)
	}
	return n.execute(m, op, b, f)
}

func (n *mNode) stop(f mFault) bool {
	n.fault = f
	return false
}

func long(b []uint32, i int) uint64 { return uint64(b[i]) | uint64(b[i+1])<<32 }

// execute does what a whole packet says; f is the fault that it may become.
func (n *mNode) execute(m *memory, op uint32, b []uint32, f mFault) bool {
	fail := func(cause uint32, bad uint64, known bool) bool {
		f.cause, f.bad, f.badKnown = cause, bad, known
		return n.stop(f)
	}
	switch op {
	case mNOP:
	case mIndirect:
		return n.indirect(m, b, fail)
	case mSetState:
		return n.setState(b, fail)
	case mCopy:
		return n.linear(m, true, long(b, 0), long(b, 2), b[4], 0, fail)
	case mFill:
		return n.linear(m, false, 0, long(b, 0), b[2], long(b, 3), fail)
	case mCopy2D, mFill2D:
		return n.rect(m, op == mCopy2D, b, fail)
	case mWriteReg:
		switch {
		case b[0]>>16 != 0:
			return fail(cpreg.CauseReserved, 0, false)
		case b[0]%4 != 0:
			return fail(cpreg.CauseAlign, uint64(b[0]), true)
		case b[0] < 0x20 || b[0] > 0x2c:
			return fail(cpreg.CauseRegister, uint64(b[0]), true)
		}
		n.wild = n.wild || b[0]>>3&1 != n.id
		m.scratch[(b[0]-0x20)/4] = b[1]
	case mSetWindow:
		return n.setWindow(m, b, fail)
	case mWaitFence:
		return n.waitFence(b, fail)
	case mSave, mRestore:
		return n.context(m, op == mSave, long(b, 0), fail)
	default:
		return n.mark(m, op == mFence, b, fail)
	}
	return true
}

func (n *mNode) setWindow(m *memory, b []uint32, fail failFunc) bool {
	base, size := long(b, 1), long(b, 3)
	if b[0]>>3 != 0 {
		return fail(cpreg.CauseReserved, 0, false)
	}
	if bad, ok := n.inReach(m, base, base, size); !ok && size != 0 {
		return fail(cpreg.CauseAddress, bad, true)
	}
	n.windows[b[0]&3] = mWindow{span{base, size}, b[0]&4 != 0}
	return true
}

// waitFence does not know what comes later: a wait that is not over is wild.
func (n *mNode) waitFence(b []uint32, fail failFunc) bool {
	of := n
	if b[0] != n.id {
		of = n.peer
	}
	switch {
	case b[0]>>1 != 0:
		return fail(cpreg.CauseReserved, 0, false)
	case of == nil:
		return fail(cpreg.CauseState, uint64(b[0]), true)
	}
	n.wild = n.wild || of.fence < long(b, 1)
	return !n.wild
}

// context is SAVE_STATE and RESTORE_STATE.
func (n *mNode) context(m *memory, saves bool, addr uint64, fail failFunc) bool {
	if addr%128 != 0 {
		return fail(cpreg.CauseAlign, addr, true)
	}
	if bad, ok := n.inReach(m, addr, addr, 128); !ok {
		return fail(cpreg.CauseAddress, bad, true)
	}
	words := map[int]uint64{}
	for i := range n.surf {
		n.surf[i].save(words, 3*i)
	}
	for i, w := range n.windows {
		if n.protection {
			words[6+2*i], words[7+2*i] = w.at, w.n
			if w.writable {
				words[7+2*i] |= 1 << 63
			}
		}
	}
	if n.preemption {
		words[14] = uint64(n.progress)
	}
	if saves {
		for i, w := range words {
			n.fill(m, addr+8*uint64(i), 8, w)
		}
		return true
	}
	return n.restore(m, addr, words, fail)
}

func (s *mSurface) save(words map[int]uint64, at int) {
	words[at] = s.base
	words[at+1] = s.pitch | uint64(s.format)<<32
	if s.set {
		words[at+1] |= 1 << 63
	}
	words[at+2] = uint64(s.x0) | uint64(s.y0)<<16 | uint64(s.x1)<<32 | uint64(s.y1)<<48
}

// restore replaces words that are as the documents want them.
func (n *mNode) restore(m *memory, addr uint64, words map[int]uint64, fail failFunc) bool {
	n.reads(addr, 128)
	first, wrong := uint64(0), false
	for i := range 15 {
		low, ok := m.dword(addr + 8*uint64(i))
		high, _ := m.dword(addr + 8*uint64(i) + 4)
		v := uint64(low) | uint64(high)<<32
		bad := false
		switch i {
		case 1, 4:
			bad = v<<1>>36 != 0 || high&7 > 4 || low>>20 != 0
		case 2, 5:
			bad = !coords(low, high)
		case 14:
			bad = n.preemption && v>>20 != 0
		}
		if !ok {
			n.wild = true // a state that is cut off
			return fail(cpreg.CauseReadError, addr, true)
		}
		if bad && !wrong {
			first, wrong = v, true
		}
		if _, there := words[i]; there && !bad {
			words[i] = v
		}
	}
	for i := range n.surf {
		w := words[3*i+1]
		c := words[3*i+2]
		n.surf[i] = mSurface{
			w>>63 != 0, words[3*i], w & 0xfffff, uint32(w>>32) & 7,
			int64(c & 0xffff), int64(c >> 16 & 0xffff), int64(c >> 32 & 0xffff), int64(c >> 48),
		}
	}
	for i := range n.windows {
		size := words[7+2*i] & (1<<63 - 1)
		n.windows[i] = mWindow{span{words[6+2*i], size}, words[7+2*i]>>63 != 0}
	}
	n.progress = uint32(words[14])
	if wrong {
		return fail(cpreg.CauseState, first, true)
	}
	return true
}

// opens reports whether the packet at hand may reach a range.
func (n *mNode) opens(at, bytes uint64, writes bool) bool {
	for _, w := range n.windows {
		if w.n != 0 && w.holds(at, bytes) && (w.writable || !writes) {
			return true
		}
	}
	return !n.guarded
}

// inReach returns the first of the two ends of a range that is out of reach.
func (n *mNode) inReach(m *memory, low, high, bytes uint64) (bad uint64, ok bool) {
	limit := uint64(len(m.vram))
	if low&host != 0 {
		limit = 1 << n.hostBits
	}
	if low&^host >= limit {
		return low, false
	}
	return high, bytes <= limit && high&^host <= limit-bytes
}

// reads and writes note what is touched: the outcome is defined only if no
// other node writes there.
func (n *mNode) reads(at, bytes uint64) {
	if off := at&^host - memBase; at&host != 0 && off >= memSize {
		return // nothing answers
	} else if at&host != 0 {
		bytes = min(bytes, memSize-off)
	}
	for _, s := range append(n.readable, n.own, n.hostOwn) {
		if s.holds(at, bytes) {
			return
		}
	}
	n.wild = true
}

func (n *mNode) writes(at, bytes uint64) {
	off := at&^host - memBase
	nowhere := at&host != 0 && off >= memSize && off+bytes > off
	n.cost += bytes
	if !nowhere && !n.own.holds(at, bytes) && !n.hostOwn.holds(at, bytes) {
		n.wild = true
	}
}

// move copies bytes. If no memory answers for one of them, or an earlier row
// has failed, it is not defined which of the others are written.
func (n *mNode) move(m *memory, src, dst, bytes uint64, failed bool) (ok bool) {
	n.reads(src, bytes)
	n.writes(dst, bytes)
	if n.wild || n.cost > maxCost {
		n.wild = true
		return false
	}
	for i := range bytes {
		failed = failed || m.at(src+i) == nil
	}
	for i := range bytes {
		from, to := m.at(src+i), m.at(dst+i)
		switch {
		case to == nil || from == nil:
		case failed:
			n.unclear[dst+i] = *from
		default:
			*to = *from
		}
	}
	return !failed
}

func (n *mNode) fill(m *memory, dst, bytes, value uint64) {
	n.writes(dst, bytes)
	if n.wild || n.cost > maxCost {
		n.wild = true
		return
	}
	for i := range bytes {
		if to := m.at(dst + i); to != nil {
			*to = byte(value >> (8 * (i % 8)))
		}
	}
}

type failFunc func(cause uint32, bad uint64, known bool) bool

func (n *mNode) linear(m *memory, copies bool, src, dst uint64, bytes uint32, value uint64, fail failFunc) bool {
	size := uint64(bytes)
	if size >= 1<<n.lengthBits {
		return fail(cpreg.CauseLength, size, false)
	}
	done := uint64(n.skip) * 4096
	if size <= done {
		return true
	}
	if copies {
		if bad, ok := n.inReach(m, src, src, size); !ok {
			return fail(cpreg.CauseAddress, bad, true)
		}
		if !n.opens(src, size, false) {
			return fail(cpreg.CauseWindow, src, true)
		}
	}
	if bad, ok := n.inReach(m, dst, dst, size); !ok {
		return fail(cpreg.CauseAddress, bad, true)
	}
	if !n.opens(dst, size, true) {
		return fail(cpreg.CauseWindow, dst, true)
	}
	if !copies {
		n.fill(m, dst+done, size-done, value)
		return true
	}
	n.wild = n.wild || src < dst+size && dst < src+size
	if !n.move(m, src+done, dst+done, size-done, false) {
		return fail(cpreg.CauseReadError, src, true)
	}
	return true
}

func coords(vs ...uint32) bool {
	for _, v := range vs {
		if v&0xffff > 16384 || v>>16 > 16384 {
			return false
		}
	}
	return true
}

func (n *mNode) setState(b []uint32, fail failFunc) bool {
	switch {
	case b[0]>>1 != 0 || b[3]>>20 != 0 || b[4]>>3 != 0:
		return fail(cpreg.CauseReserved, 0, false)
	case b[4] > 4 || !coords(b[5], b[6]):
		return fail(cpreg.CauseState, 0, false)
	}
	n.surf[b[0]] = mSurface{
		true, long(b, 1), uint64(b[3]), b[4],
		int64(b[5] & 0xffff), int64(b[5] >> 16), int64(b[6] & 0xffff), int64(b[6] >> 16),
	}
	return true
}

func (n *mNode) indirect(m *memory, b []uint32, fail failFunc) bool {
	addr, count, resume := long(b, 0), b[2]&0xfffff, b[2]>>20&1 == 1
	switch {
	case b[2]>>21 != 0 || resume && !n.preemption:
		return fail(cpreg.CauseReserved, 0, false)
	case addr%4 != 0:
		return fail(cpreg.CauseAlign, addr, true)
	case count == 0:
		return true
	}
	if bad, ok := n.inReach(m, addr, addr, 4*uint64(count)); !ok {
		return fail(cpreg.CauseAddress, bad, true)
	}
	n.ibAddr, n.ibLeft = addr, count
	if resume {
		n.skip = n.progress
	}
	for n.ibLeft != 0 && !n.wild {
		pos := uint32(0)
		next := func() (uint64, bool) {
			n.reads(n.ibAddr+4*uint64(pos), 4)
			n.wild = n.wild || n.own.holds(n.ibAddr, 4) || n.hostOwn.holds(n.ibAddr, 4)
			pos++
			return n.ibAddr + 4*uint64(pos-1), true
		}
		if !n.packet(m, next, func() uint32 { return n.ibLeft - pos }) {
			return false
		}
		n.packets, n.retired = n.packets+1, n.retired+1
		n.skip = 0
		n.ibAddr += 4 * uint64(pos)
		n.ibLeft -= pos
	}
	return true
}

// rect is COPY_2D and FILL_2D, a row at a time.
func (n *mNode) rect(m *memory, copies bool, b []uint32, fail failFunc) bool {
	s, d := n.surf[0], n.surf[1]
	corner, size, last := b[0], b[1], b[:2]
	if copies {
		corner, size, last = b[1], b[2], b[:3]
	}
	switch {
	case !coords(last...) || !d.set || copies && (!s.set || s.format != d.format) || !copies && d.format > 3:
		return fail(cpreg.CauseState, 0, false)
	}
	x0, x1, y0, y1 := int64(0), int64(size&0xffff), int64(0), int64(size>>16)
	clip := func(f mSurface, corner uint32) (x, y int64) {
		x, y = int64(corner&0xffff), int64(corner>>16)
		x0, x1 = max(x0, f.x0-x), min(x1, f.x1-x)
		y0, y1 = max(y0, f.y0-y), min(y1, f.y1-y)
		return x, y
	}
	dx, dy := clip(d, corner)
	sx, sy := int64(0), int64(0)
	if copies {
		sx, sy = clip(s, b[0])
	}
	y0 += int64(n.skip)
	if x0 >= x1 || y0 >= y1 {
		return true
	}
	bytes := uint64(x1-x0) << d.format
	row := func(f mSurface, x, y int64) uint64 { return f.base + uint64(x)<<f.format + uint64(y)*f.pitch }
	check := func(f mSurface, x, y int64, writes bool) (cause uint32, bad uint64) {
		first, last := row(f, x+x0, y+y0), row(f, x+x0, y+y1-1)
		if bad, ok := n.inReach2D(m, f.base, last, bytes); !ok {
			return cpreg.CauseAddress, bad
		}
		if !n.opens(first, last+bytes-first, writes) {
			return cpreg.CauseWindow, first
		}
		return 0, 0
	}
	if copies {
		if cause, bad := check(s, sx, sy, false); cause != 0 {
			return fail(cause, bad, true)
		}
	}
	if cause, bad := check(d, dx, dy, true); cause != 0 {
		return fail(cause, bad, true)
	}
	return n.rows(m, copies, y1-y0, bytes, row(s, sx+x0, sy+y0), row(d, dx+x0, dy+y0), b, fail)
}

func (n *mNode) inReach2D(m *memory, base, last, bytes uint64) (uint64, bool) {
	if bad, ok := n.inReach(m, base, base, 0); !ok {
		return bad, false
	}
	return n.inReach(m, base, last, bytes)
}

func (n *mNode) rows(m *memory, copies bool, rows int64, bytes, src, dst uint64, b []uint32, fail failFunc) bool {
	s, d := n.surf[0], n.surf[1]
	if uint64(rows)*(bytes+64) > maxCost {
		n.wild = true
		return false
	}
	failed := false
	if copies {
		srcEnd, dstEnd := src+uint64(rows-1)*s.pitch+bytes, dst+uint64(rows-1)*d.pitch+bytes
		n.wild = n.wild || src < dstEnd && dst < srcEnd
	}
	for range rows {
		if copies {
			failed = !n.move(m, src, dst, bytes, failed) || failed
		} else {
			n.fill(m, dst, bytes, long(b, 2))
		}
		if n.wild {
			return false
		}
		src, dst = src+s.pitch, dst+d.pitch
	}
	if failed {
		n.wild = n.wild || d.pitch < bytes // a row may hide what the one before left
		return fail(cpreg.CauseReadError, s.base, true)
	}
	return true
}

// predicate skips dwords or does not.
func (n *mNode) predicate(m *memory, b []uint32, f mFault, next func() (uint64, bool), left func() uint32) bool {
	addr, skip := long(b, 0), b[2]&0xffff
	bad, ok := n.inReach(m, addr, addr, 8)
	switch {
	case b[2]>>17 != 0:
		f.cause = cpreg.CauseReserved
	case addr%8 != 0:
		f.cause, f.bad, f.badKnown = cpreg.CauseAlign, addr, true
	case left != nil && skip > left():
		f.cause = cpreg.CauseLength
	case !ok:
		f.cause, f.bad, f.badKnown = cpreg.CauseAddress, bad, true
	case !n.opens(addr, 8, false):
		f.cause, f.bad, f.badKnown = cpreg.CauseWindow, addr, true
	}
	if f.cause != 0 {
		return n.stop(f)
	}
	n.reads(addr, 8)
	low, there := m.dword(addr)
	high, _ := m.dword(addr + 4)
	if !there {
		f.cause, f.bad, f.badKnown = cpreg.CauseReadError, addr, true
		return n.stop(f)
	}
	if (low|high == 0) == (b[2]>>16 == 1) {
		return true
	}
	for range skip {
		a, ok := next()
		if !ok {
			n.wild = true // the host has not written what is skipped
			return false
		}
		if _, ok := m.dword(a); !ok {
			f.cause, f.bad, f.badKnown = cpreg.CauseReadError, a, true
			return n.stop(f)
		}
	}
	return true
}

// mark is FENCE and TIMESTAMP.
func (n *mNode) mark(m *memory, fence bool, b []uint32, fail failFunc) bool {
	addr := long(b, 0)
	if fence && b[3]>>1 != 0 {
		return fail(cpreg.CauseReserved, 0, false)
	}
	if addr%8 != 0 {
		return fail(cpreg.CauseAlign, addr, true)
	}
	if bad, ok := n.inReach(m, addr, addr, 8); !ok {
		return fail(cpreg.CauseAddress, bad, true)
	}
	if !n.opens(addr, 8, true) {
		return fail(cpreg.CauseWindow, addr, true)
	}
	if !fence {
		n.wild = n.wild || !n.stamps.holds(addr, 8)
		n.stamped++
		return true
	}
	ahead := b[2] - uint32(n.fence)
	if int32(ahead) < 0 {
		return fail(cpreg.CauseFence, uint64(b[2]), true)
	}
	n.fence += uint64(ahead)
	if !n.timeline {
		n.fence &= 1<<32 - 1
	}
	n.fill(m, addr, 8, n.fence)
	n.done += int(b[3])
	return true
}
