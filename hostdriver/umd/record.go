package umd

import (
	"math"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// The functions below are the recording functions of a deferred context's
// table. Each takes local handles and appends a command. The effect of the
// command is documented at the function of the immediate context.
//
//	Caller  the deferred context's thread
//	Effect  memory only, none of it shared
//	Returns through SetErrorCb of the context: EOutOfMemory; the recording is
//	        then lost and nothing is recorded until the context is recycled;
//	        DDIDeviceRemoved for a handle that is not open on the context

// reserve appends n bytes to the recording, a multiple of commandAlign. It
// returns nil if there is no memory, which has been reported.
func (c *deferred) reserve(t *ddi.Thread, n int) []byte {
	if u := c.used + n; u <= len(c.mem) {
		p := c.mem[c.used:u:u]
		c.used = u
		return p
	}
	return c.extendFor(t, n)
}

// extendFor reserves in a new chunk. It first lets the runtime do deferred
// processing, and reports the loss of the recording once.
func (c *deferred) extendFor(t *ddi.Thread, n int) []byte {
	if c.phase != recordingPhase {
		c.report(t, ddi.EFail)
		return nil
	}
	if c.lost {
		return nil
	}
	if c.um.PerformAmortizedProcessingCb != nil {
		c.um.PerformAmortizedProcessingCb(t, c.core)
	}
	p := c.extend(n)
	if p == nil {
		c.report(t, ddi.EOutOfMemory, ddi.EOutOfMemory)
	}
	return p
}

// local returns the ID in a local handle. If the handle is not open, local
// reports that and returns zero.
func (c *deferred) local(t *ddi.Thread, o *ddi.Object, tag uint32) id {
	k := idIn(o, tag|tagLocal)
	if k.gen == 0 {
		c.report(t, ddi.EFail)
	}
	return k
}

func deferCopy(t *ddi.Thread, h umddi.HDevice, dst, src umddi.HResource) {
	c := deferredOf(h)
	to, from := c.local(t, dst.Object, tagResource), c.local(t, src.Object, tagResource)
	if to.gen == 0 || from.gen == 0 {
		return
	}
	if p := c.reserve(t, copyCommand); p != nil {
		putHeader(p, opCopy, copyCommand)
		le.PutUint64(p[8:], to.word())
		le.PutUint64(p[16:], from.word())
	}
}

func deferCopyRegion(t *ddi.Thread, h umddi.HDevice, dst umddi.HResource, dstSub, x, y, z uint32, src umddi.HResource, srcSub uint32, box *umddi.Box) {
	c := deferredOf(h)
	to, from := c.local(t, dst.Object, tagResource), c.local(t, src.Object, tagResource)
	if to.gen == 0 || from.gen == 0 {
		return
	}
	if p := c.reserve(t, regionCommand); p != nil {
		putHeader(p, opRegion, regionCommand)
		le.PutUint64(p[8:], to.word())
		le.PutUint64(p[16:], from.word())
		putWords(p[24:], dstSub, x, y, z, srcSub)
		putBox(p[44:], box)
	}
}

func deferUpdateSubresourceUP(t *ddi.Thread, h umddi.HDevice, dst umddi.HResource, sub uint32, box *umddi.Box, data []byte, rowPitch, _ uint32) {
	c := deferredOf(h)
	to := c.local(t, dst.Object, tagResource)
	if to.gen == 0 {
		return
	}
	r := c.dev.resources.at(to)
	part, hr := r.updateRegion(sub, box, data, rowPitch)
	if hr != ddi.OK {
		c.report(t, hr)
		return
	}
	row, rows := uint64(part.width())<<r.format, uint64(part.height())
	size := align(updateCommand+row*rows, commandAlign)
	p := c.reserveLarge(t, size)
	if p == nil {
		return
	}
	putHeader(p, opUpdate, int(size))
	le.PutUint64(p[8:], to.word())
	putWords(p[16:], sub, uint32(row), part.x0, part.y0, part.x1, part.y1)
	copyRows(p[updateCommand:], row, data, uint64(rowPitch), row, rows)
}

// reserveLarge is reserve for any size.
func (c *deferred) reserveLarge(t *ddi.Thread, size uint64) []byte {
	return c.reserve(t, int(min(size, maxListBytes+commandAlign)))
}

func deferClear(t *ddi.Thread, h umddi.HDevice, v umddi.HRenderTargetView, color [4]float32) {
	c := deferredOf(h)
	k := c.local(t, v.Object, tagView)
	if k.gen == 0 {
		return
	}
	if p := c.reserve(t, clearCommand); p != nil {
		putHeader(p, opClear, clearCommand)
		le.PutUint64(p[8:], k.word())
		for i, x := range color {
			le.PutUint32(p[16+4*i:], math.Float32bits(x))
		}
	}
}

// deferQueryBegin records nothing, since queryBegin does nothing.
func deferQueryBegin(t *ddi.Thread, h umddi.HDevice, q umddi.HQuery) {
	deferredOf(h).local(t, q.Object, tagQuery)
}

func deferQueryEnd(t *ddi.Thread, h umddi.HDevice, q umddi.HQuery) {
	c := deferredOf(h)
	k := c.local(t, q.Object, tagQuery)
	if k.gen == 0 {
		return
	}
	if p := c.reserve(t, endCommand); p != nil {
		putHeader(p, opEnd, endCommand)
		le.PutUint64(p[8:], k.word())
	}
}

func deferSetPredication(t *ddi.Thread, h umddi.HDevice, q umddi.HQuery, value bool) {
	c := deferredOf(h)
	k := id{}
	if q.Object != nil {
		if k = c.local(t, q.Object, tagQuery); k.gen == 0 {
			return
		}
	}
	c.recordPredicate(t, k, value)
}

// recordPredicate records a predicate; the zero ID means none. It does not
// record a change from none to none.
func (c *deferred) recordPredicate(t *ddi.Thread, k id, value bool) {
	if k.gen == 0 && c.flags&listPredicated == 0 {
		return
	}
	p := c.reserve(t, predicateCommand)
	if p == nil {
		return
	}
	c.flags &^= listPredicated
	if k.gen != 0 {
		c.flags |= listPredicated
	}
	putHeader(p, opPredicate, predicateCommand)
	le.PutUint64(p[8:], k.word())
	le.PutUint64(p[16:], 0)
	if value {
		p[16] = 1
	}
}

// deferMapDiscard maps zeroed memory of the recording. When the list executes,
// the memory becomes the contents of the subresource, in a different allocation
// each time, so that a list can be executed again while the GPU still reads the
// previous contents.
//
//	Returns like all that record. With EOutOfMemory nothing is mapped
func deferMapDiscard(t *ddi.Thread, h umddi.HDevice, res umddi.HResource, sub uint32, _ umddi.Map, _ umddi.MapFlags) umddi.Mapped {
	c := deferredOf(h)
	k := c.local(t, res.Object, tagResource)
	if k.gen == 0 {
		return umddi.Mapped{}
	}
	r := c.dev.resources.at(k)
	if r == nil || r.usage != umddi.UsageDynamic || uint64(sub) >= uint64(len(r.subs)) {
		c.report(t, ddi.EFail)
		return umddi.Mapped{}
	}
	s := r.subs[sub]
	p, at := c.reserveContents(t, s.size())
	if p == nil {
		return umddi.Mapped{}
	}
	putHeader(p, opDiscard, len(p))
	le.PutUint64(p[8:], k.word())
	putWords(p[16:], sub, uint32(s.size()), uint32(at), 0)
	clear(p[discardCommand:])
	c.flags |= listMaps
	if sub == 0 {
		putWords(res.Private[localDiscard:], uint32(len(c.chunks)), uint32(c.used-len(p)+at), c.epoch, discardMark)
	}
	return s.mapped(p[at:])
}

// reserveContents reserves a discard with n bytes of contents and returns their
// offset in it. Each failed map reports the error, since a map cannot fail
// otherwise.
func (c *deferred) reserveContents(t *ddi.Thread, n uint64) (p []byte, at int) {
	if c.lost {
		c.report(t, ddi.EOutOfMemory, ddi.EOutOfMemory)
		return nil, 0
	}
	pad := -(c.used + discardCommand) & (contentAlign - 1)
	size := align(discardCommand+uint64(pad)+n, commandAlign)
	if p = c.reserveLarge(t, size); p == nil {
		return nil, 0
	}
	// In a new chunk the command is at the start and needs no padding.
	if c.used == len(p) {
		pad = 0
	}
	return p, discardCommand + pad
}

// deferMapNoOverwrite maps the memory of the last discard in the recording,
// even if it is from a list executed after the context's own discard. Earlier
// commands use the contents that the memory has when the list is finished.
//
//	Returns through SetErrorCb of the context: EOutOfMemory if the recording is
//	        lost; DDIDeviceRemoved if the context has not discarded the resource,
//	        which the runtime must prevent
func deferMapNoOverwrite(t *ddi.Thread, h umddi.HDevice, res umddi.HResource, sub uint32, _ umddi.Map, _ umddi.MapFlags) umddi.Mapped {
	c := deferredOf(h)
	k := c.local(t, res.Object, tagResource)
	if k.gen == 0 {
		return umddi.Mapped{}
	}
	r, m := c.dev.resources.at(k), res.Private[localDiscard:]
	if c.lost {
		c.report(t, ddi.EOutOfMemory, ddi.EOutOfMemory)
		return umddi.Mapped{}
	}
	chunk, at := int(le.Uint32(m)), le.Uint32(m[4:])
	if r == nil || sub != 0 || le.Uint32(m[12:]) != discardMark {
		c.report(t, ddi.EFail)
		return umddi.Mapped{}
	}
	if le.Uint32(m[8:]) != c.epoch {
		chunk, at = c.lastDiscard(k, r.subs[0].size(), chunk, at)
		putWords(m, uint32(chunk), at, c.epoch)
	}
	return r.subs[0].mapped(c.chunk(chunk)[at:])
}

// deferUnmap does nothing: the memory is part of the recording.
func deferUnmap(t *ddi.Thread, h umddi.HDevice, res umddi.HResource, _ uint32) {
	c := deferredOf(h)
	c.local(t, res.Object, tagResource)
}

// deferExecute records the execution of a list by appending its commands, so
// that the list is not used afterwards. The state is reset, as on the immediate
// context.
func deferExecute(t *ddi.Thread, h umddi.HDevice, list umddi.HCommandList) {
	c := deferredOf(h)
	k := c.local(t, list.Object, tagList)
	if k.gen == 0 {
		return
	}
	if uint64(k.slot) >= uint64(len(c.opened)) || listPhase(c.opened[k.slot]) != listExecutable {
		c.report(t, ddi.EFail)
		return
	}
	inner := c.opened[k.slot]
	flags := listFlags(inner)
	c.recordPredicate(t, id{}, false)
	c.appendCommands(t, listHead(inner), flags)
	for _, chunk := range c.dev.listChunks(inner) {
		c.appendCommands(t, chunk, flags)
	}
	c.flags |= flags
	if flags&listMaps != 0 {
		c.epoch++
	}
	c.recordPredicate(t, id{}, false)
	c.clearState()
}

// appendCommands appends commands of a list with the given flags. Contents of
// discards stay aligned.
func (c *deferred) appendCommands(t *ddi.Thread, commands []byte, flags uint32) {
	if len(commands) == 0 {
		return
	}
	for flags&listMaps != 0 && c.used&(contentAlign-1) != 0 {
		if p := c.reserve(t, headerBytes); p != nil {
			putHeader(p, opPad, headerBytes)
		}
	}
	if p := c.reserve(t, len(commands)); p != nil {
		copy(p, commands)
	}
}
