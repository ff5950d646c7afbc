package d3d11

import (
	"math"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// A reader is the unread part of a recording.
type reader struct {
	objects []object
	words   []uint32
	blobs   [][]byte

	buffers [umddi.MaxVertexBuffers]*Buffer
}

func (r *reader) object() object {
	o := r.objects[0]
	r.objects = r.objects[1:]
	return o
}

// resource returns the next object, which must be a resource.
func (r *reader) resource() *resource { return r.object().(Resource).core() }

// buffer returns the next object, which must be a buffer or nil.
func (r *reader) buffer() *Buffer {
	b, _ := r.object().(*Buffer)
	return b
}

// slots returns the next n buffers. The slice is valid until the next call.
func (r *reader) slots(n int) []*Buffer {
	for i := range n {
		r.buffers[i] = r.buffer()
	}
	return r.buffers[:n]
}

func (r *reader) take(n int) []uint32 {
	w := r.words[:n]
	r.words = r.words[n:]
	return w
}

func (r *reader) word() uint32 { return r.take(1)[0] }

func (r *reader) float() float32 { return math.Float32frombits(r.word()) }

func (r *reader) blob() []byte {
	b := r.blobs[0]
	r.blobs = r.blobs[1:]
	return b
}

// box reads the next box into b. It returns nil if there is none.
func (r *reader) box(flag uint8, b *Box) *Box {
	if flag != hasBox {
		return nil
	}
	w := r.take(6)
	*b = Box{Left: w[0], Top: w[1], Front: w[2], Right: w[3], Bottom: w[4], Back: w[5]}
	return b
}

// A replaying is an executing list and the state to restore.
type replaying struct {
	reader

	commands []command
	before   *recording // commands that restore the state; nil for the default
}

// replay executes a list on the immediate context, starting from the default
// state, and then restores the state or resets it to the default. It stops if
// the device is removed. Lists nest to any depth, so executing lists are kept
// in a slice instead of on the stack.
func (c *Context) replay(l *CommandList, restore bool) {
	running := []*replaying{c.enter(l, restore)}
	for len(running) > 0 {
		p := running[len(running)-1]
		if len(p.commands) == 0 || c.dev.removed() {
			c.leave(p)
			running = running[:len(running)-1]
			continue
		}
		cmd := p.commands[0]
		p.commands = p.commands[1:]
		switch {
		case cmd.op == opExecute:
			running = append(running, c.enter(p.object().(*CommandList), cmd.slot == 1))
		case cmd.op <= opPredication:
			c.replayState(&p.reader, cmd)
		default:
			c.replayWork(&p.reader, cmd)
		}
	}
}

// enter saves the state, if it is to be restored, and resets it to the default.
func (c *Context) enter(l *CommandList, restore bool) *replaying {
	p := newReplaying(l.body.rec)
	if restore {
		p.before = c.dev.takeRecording()
		p.before.state(&c.state)
	}
	c.reset()
	return p
}

// leave ends enter.
func (c *Context) leave(p *replaying) {
	c.reset()
	if p.before == nil {
		return
	}
	back := newReplaying(p.before)
	for _, cmd := range back.commands {
		c.replayState(&back.reader, cmd)
	}
	c.dev.freeRecording(p.before, nil) // it contains no lists
}

func newReplaying(r *recording) *replaying {
	return &replaying{reader: reader{objects: r.objects, words: r.words, blobs: r.blobs}, commands: r.commands}
}

// replayState executes a command that sets pipeline state.
func (c *Context) replayState(r *reader, cmd command) {
	n := int(cmd.n)
	switch cmd.op {
	case opClearState:
		c.reset()
	case opTopology:
		c.bindTopology(Topology(r.word()))
	case opVertexBuffers:
		c.bindVertexBuffers(int(cmd.slot), r.slots(n), r.take(n), r.take(n))
	case opIndexBuffer:
		c.bindIndexBuffer(r.buffer(), dxgi.Format(r.word()), r.word())
	case opConstantBuffers:
		c.bindConstantBuffers(stage(cmd.n), int(cmd.slot), r.slots(int(r.word())))
	case opRenderTargets:
		var views [umddi.MaxRenderTargets]*RenderTargetView
		for i := range n {
			views[i], _ = r.object().(*RenderTargetView)
		}
		c.bindRenderTargets(views[:n])
	case opViewports:
		var vps [umddi.MaxViewports]Viewport
		for i := range n {
			vps[i] = Viewport{TopLeftX: r.float(), TopLeftY: r.float(), Width: r.float(), Height: r.float(),
				MinDepth: r.float(), MaxDepth: r.float()}
		}
		c.bindViewports(vps[:n])
	case opScissors:
		var rects [umddi.MaxViewports]Rect
		for i := range n {
			rects[i] = Rect{Left: int32(r.word()), Top: int32(r.word()), Right: int32(r.word()), Bottom: int32(r.word())}
		}
		c.bindScissors(rects[:n])
	case opPredication:
		q, _ := r.object().(*Query)
		c.bindPredication(q, cmd.slot == 1)
	}
}

// replayWork executes a command that changes the content of objects.
func (c *Context) replayWork(r *reader, cmd command) {
	var b Box
	switch cmd.op {
	case opCopyResource:
		c.copyResource(r.resource(), r.resource())
	case opCopyRegion:
		dst, src, w := r.resource(), r.resource(), r.take(5)
		c.copyRegion(dst, w[0], w[1], w[2], w[3], src, w[4], r.box(cmd.slot, &b))
	case opUpdate:
		dst, w, data := r.resource(), r.take(2), r.blob()
		c.update(dst, w[0], r.box(cmd.slot, &b), data, w[1], uint32(len(data)))
	case opClearTarget:
		c.clearTarget(r.object().(*RenderTargetView), [4]float32{r.float(), r.float(), r.float(), r.float()})
	case opQueryBegin:
		c.queryBegin(r.object().(*Query))
	case opQueryEnd:
		c.queryEnd(r.object().(*Query))
	case opDiscard:
		c.discard(r.resource(), r.word(), r.blob())
	case opOverwrite:
		c.overwrite(r.resource(), r.blob(), r.blob())
	}
}

// discard replaces the content of a subresource with recorded data. If the
// driver has no memory for it, the content does not change.
func (c *Context) discard(r *resource, sub uint32, data []byte) {
	m, hr := c.mapResource(r, r.handle(), sub, MapWriteDiscard, 0)
	if hr != ddi.OK {
		c.notMoved("ExecuteCommandList", hr)
		return
	}
	w, h := r.extent(sub)
	row := int(w * r.bytes)
	for y := range int(h) {
		copy(m.Data[y*int(m.RowPitch):][:row], data[y*row:])
	}
	name, unmap := r.unmapFunc(c.funcs)
	unmap(c.begin(name, maySet), c.h, r.handle(), sub)
	c.end()
}

// overwrite writes to a buffer the bytes in which data differs from base. The GPU
// may still use the others. If the driver cannot map the buffer, its content does
// not change.
func (c *Context) overwrite(r *resource, data, base []byte) {
	m, hr := c.mapResource(r, r.handle(), 0, MapWriteNoOverwrite, 0)
	if hr != ddi.OK {
		c.notMoved("ExecuteCommandList", hr)
		return
	}
	for i, b := range data {
		if b != base[i] {
			m.Data[i] = b
		}
	}
	name, unmap := r.unmapFunc(c.funcs)
	unmap(c.begin(name, maySet), c.h, r.handle(), 0)
	c.end()
}
