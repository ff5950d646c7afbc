package d3d11

import (
	"math"

	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
)

// opcode identifies the operation of a recorded command.
type opcode uint8

const (
	opClearState opcode = iota
	opTopology
	opVertexBuffers
	opIndexBuffer
	opConstantBuffers
	opRenderTargets
	opViewports
	opScissors
	opPredication
	opCopyResource
	opCopyRegion
	opUpdate
	opClearTarget
	opQueryBegin
	opQueryEnd
	opDiscard
	opOverwrite
	opExecute
)

// A command is one recorded call. Its objects, words and memory follow those of
// earlier commands in the lists of the recording; replay.go reads them in the
// order in which they were written.
type command struct {
	op   opcode
	slot uint8  // first slot, or a flag
	n    uint16 // number of slots, or a shader stage
}

// Flag of opCopyRegion and opUpdate, in command.slot.
const hasBox = 1

// A recording is the content of a command list. It holds an object once for
// each mention. Its memory is reused for other lists.
type recording struct {
	commands []command
	objects  []object // may be nil
	words    []uint32
	blobs    [][]byte // slices of memory
	memory   arena

	queried map[*Query]bool // the queries in effects.queries

	// The memory that the last discard gives each resource in effects.maps.
	contents map[*resource][]byte
}

// put appends a command.
func (r *recording) put(op opcode, slot, n int) {
	r.commands = append(r.commands, command{op, uint8(slot), uint16(n)})
}

// object appends an object and holds it.
func (r *recording) object(o object) {
	o.hold()
	r.objects = append(r.objects, o)
}

// buffer appends a buffer, which may be nil.
func (r *recording) buffer(b *Buffer) {
	if b == nil {
		r.objects = append(r.objects, nil)
		return
	}
	r.object(b)
}

func (r *recording) word(v ...uint32) { r.words = append(r.words, v...) }

// boxWords appends a box, unless it is nil, and returns the flag.
func (r *recording) boxWords(b *Box) int {
	if b == nil {
		return 0
	}
	r.word(b.Left, b.Top, b.Front, b.Right, b.Bottom, b.Back)
	return hasBox
}

func (r *recording) topology(t Topology) {
	r.put(opTopology, 0, 0)
	r.word(uint32(t))
}

func (r *recording) vertexBuffers(start int, bufs []*Buffer, strides, offsets []uint32) {
	r.put(opVertexBuffers, start, len(bufs))
	for _, b := range bufs {
		r.buffer(b)
	}
	r.word(strides...)
	r.word(offsets...)
}

func (r *recording) indexBuffer(b *Buffer, f dxgi.Format, offset uint32) {
	r.put(opIndexBuffer, 0, 0)
	r.buffer(b)
	r.word(uint32(f), offset)
}

func (r *recording) constantBuffers(st stage, start int, bufs []*Buffer) {
	r.put(opConstantBuffers, start, int(st))
	r.word(uint32(len(bufs)))
	for _, b := range bufs {
		r.buffer(b)
	}
}

func (r *recording) renderTargets(views []*RenderTargetView) {
	r.put(opRenderTargets, 0, len(views))
	for _, v := range views {
		if v == nil {
			r.objects = append(r.objects, nil)
			continue
		}
		r.object(v)
	}
}

func (r *recording) viewports(vps []Viewport) {
	r.put(opViewports, 0, len(vps))
	for _, v := range vps {
		for _, x := range [...]float32{v.TopLeftX, v.TopLeftY, v.Width, v.Height, v.MinDepth, v.MaxDepth} {
			r.word(math.Float32bits(x))
		}
	}
}

func (r *recording) scissors(rects []Rect) {
	r.put(opScissors, 0, len(rects))
	for _, s := range rects {
		r.word(uint32(s.Left), uint32(s.Top), uint32(s.Right), uint32(s.Bottom))
	}
}

// state records the state that differs from the default.
func (r *recording) state(s *state) {
	if s.topology != 0 {
		r.topology(s.topology)
	}
	if n := s.vertexCount(); n > 0 {
		r.vertexBuffers(0, s.vertex[:n], s.strides[:n], s.offsets[:n])
	}
	if s.index != nil || s.indexFormat != 0 || s.indexOffset != 0 {
		r.indexBuffer(s.index, s.indexFormat, s.indexOffset)
	}
	for st := range stages {
		if n := s.constantCount(st); n > 0 {
			r.constantBuffers(st, 0, s.constant[st][:n])
		}
	}
	if n := s.targetCount(); n > 0 {
		r.renderTargets(s.targets[:n])
	}
	if s.viewportCount > 0 {
		r.viewports(s.viewports[:s.viewportCount])
	}
	if s.scissorCount > 0 {
		r.scissors(s.scissors[:s.scissorCount])
	}
	if s.predicate != nil {
		r.predication(s.predicate, s.predicateValue)
	}
}

func (r *recording) predication(q *Query, value bool) {
	flag := 0
	if value {
		flag = 1
	}
	r.put(opPredication, flag, 0)
	if q == nil {
		r.objects = append(r.objects, nil)
		return
	}
	r.object(q)
}

func (r *recording) copyResource(dst, src *resource) {
	r.put(opCopyResource, 0, 0)
	r.object(dst.self)
	r.object(src.self)
}

func (r *recording) copyRegion(dst *resource, dstSub, x, y, z uint32, src *resource, srcSub uint32, box *Box) {
	r.object(dst.self)
	r.object(src.self)
	r.word(dstSub, x, y, z, srcSub)
	r.put(opCopyRegion, r.boxWords(box), 0)
}

// update records an update with a copy of its data, row by row.
func (r *recording) update(dst *resource, sub uint32, box *Box, data []byte, row, rows, pitch uint32) {
	p := r.memory.take(uint64(row) * uint64(rows))
	for y := range uint64(rows) {
		copy(p[y*uint64(row):][:row], data[y*uint64(pitch):])
	}
	r.object(dst.self)
	r.word(sub, row)
	r.blobs = append(r.blobs, p)
	r.put(opUpdate, r.boxWords(box), 0)
}

func (r *recording) clearTarget(v *RenderTargetView, color [4]float32) {
	r.put(opClearTarget, 0, 0)
	r.object(v)
	for _, x := range color {
		r.word(math.Float32bits(x))
	}
}

// discard records that the content of a subresource is replaced by the returned
// memory of n bytes, which is zero.
func (r *recording) discard(res *resource, sub uint32, n uint64) []byte {
	p := r.memory.take(n)
	clear(p)
	r.put(opDiscard, 0, 0)
	r.object(res.self)
	r.word(sub)
	r.blobs = append(r.blobs, p)
	return p
}

// overwrite records that bytes of a buffer change without a discard: those in
// which the returned memory differs from base, of which it is a copy.
func (r *recording) overwrite(res *resource, base []byte) []byte {
	p := r.memory.take(uint64(len(base)))
	copy(p, base)
	r.put(opOverwrite, 0, 0)
	r.object(res.self)
	r.blobs = append(r.blobs, p, base)
	return p
}

func (r *recording) execute(l *CommandList, restore bool) {
	flag := 0
	if restore {
		flag = 1
	}
	r.put(opExecute, flag, 0)
	r.object(l)
}

// reset empties the recording and drops its references. Lists that this ends
// are added to e.
func (r *recording) reset(e *endedLists) {
	for _, o := range r.objects {
		switch o := o.(type) {
		case nil:
		case *CommandList:
			e.drop(o)
		default:
			o.drop()
		}
	}
	clear(r.objects)
	clear(r.blobs)
	clear(r.contents)
	clear(r.queried)
	r.commands = r.commands[:0]
	r.objects = r.objects[:0]
	r.words = r.words[:0]
	r.blobs = r.blobs[:0]
	r.memory.reset()
}

// maxSpare is the number of recordings that a device keeps for later lists.
const maxSpare = 64

// takeRecording returns an empty recording.
func (d *Device) takeRecording() *recording {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.spare)
	if n == 0 {
		return new(recording)
	}
	r := d.spare[n-1]
	d.spare = d.spare[:n-1]
	return r
}

// freeRecording empties a recording and keeps it for reuse. Lists that this
// ends are added to e.
func (d *Device) freeRecording(r *recording, e *endedLists) {
	r.reset(e)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.spare) < maxSpare {
		d.spare = append(d.spare, r)
	}
}

// Sizes of an arena, in bytes: the first chunk, of which each next one is four
// times as large, up to the largest; and the granularity of take. Then the number
// of chunks that reset keeps.
const (
	firstChunk = 64
	chunkSize  = 64 << 10
	arenaAlign = 16
	keptChunks = 9
)

// An arena allocates memory that does not move until reset.
type arena struct {
	chunks [][]byte
	used   int // bytes used in the last chunk
	last   int // index of the last chunk in use
}

// take returns n bytes at a multiple of 16. They are not cleared.
func (a *arena) take(n uint64) []byte {
	for ; a.last < len(a.chunks); a.last, a.used = a.last+1, 0 {
		c := a.chunks[a.last]
		if n <= uint64(len(c)-a.used) {
			p := c[a.used : a.used+int(n) : a.used+int(n)]
			a.used = min(len(c), (a.used+int(n)+arenaAlign-1)&^(arenaAlign-1))
			return p
		}
	}
	size := uint64(firstChunk) << min(2*len(a.chunks), 10)
	a.chunks = append(a.chunks, make([]byte, max(n, size)))
	return a.take(n)
}

// reset frees all memory.
func (a *arena) reset() {
	kept := a.chunks[:0]
	for _, c := range a.chunks {
		if len(c) <= chunkSize && len(kept) < keptChunks {
			kept = append(kept, c)
		}
	}
	clear(a.chunks[len(kept):])
	a.chunks = kept
	a.last, a.used = 0, 0
}
