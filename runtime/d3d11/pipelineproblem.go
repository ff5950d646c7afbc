package d3d11

import (
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// inSlots reports whether slots [start, start+n) are below limit. n must be at
// least 1.
func inSlots(start uint32, n, limit int) bool {
	return n > 0 && n <= limit && start <= uint32(limit-n)
}

// slotsProblem returns a problem unless slots [start, start+n) are below limit
// and n is at least 1.
func slotsProblem(start uint32, n, limit int) problem {
	if inSlots(start, n, limit) {
		return problem{}
	}
	return problemf(MessageInvalidSlots, "StartSlot is %d for %d slots, want at least 1 slot below %d", start, n, limit)
}

// buffersProblem returns a problem, with message id, unless each buffer is nil or
// a buffer of the device with the bind flag.
func (c *Context) buffersProblem(id MessageID, bufs []*Buffer, flag uint32) problem {
	for i, b := range bufs {
		switch {
		case b == nil:
		case !b.usable(c.dev):
			return problemf(id, "buffer %d %s", i, b.misuse(c.dev))
		case b.bind&flag == 0:
			return problemf(id, "BindFlags of buffer %d is %#x, want the flag %#x", i, b.bind, flag)
		}
	}
	return problem{}
}

// topologyProblem returns a problem if t is not a topology.
func topologyProblem(t Topology) problem {
	if t <= TopologyTriangleStrip || t >= TopologyLineListAdj && t <= TopologyTriangleStripAdj ||
		t >= TopologyPatchList1 && t < TopologyPatchList1+32 {
		return problem{}
	}
	return problemf(MessageIASetPrimitiveTopologyUnrecognized, "Topology is %d, want 0 to %d, %d to %d or %d to %d", t,
		TopologyTriangleStrip, TopologyLineListAdj, TopologyTriangleStripAdj, TopologyPatchList1, TopologyPatchList1+31)
}

// vertexSlotsProblem returns why the slots are invalid or the slices differ in
// length.
func vertexSlotsProblem(start uint32, bufs []*Buffer, strides, offsets []uint32) problem {
	n := len(bufs)
	if len(strides) != n || len(offsets) != n {
		return problemf(MessageInvalidSlots, "there are %d strides and %d offsets, want %d, as many as buffers",
			len(strides), len(offsets), n)
	}
	return slotsProblem(start, n, umddi.MaxVertexBuffers)
}

// vertexProblem returns why the arguments of IASetVertexBuffers are invalid.
func (c *Context) vertexProblem(start uint32, bufs []*Buffer, strides, offsets []uint32) problem {
	if p := vertexSlotsProblem(start, bufs, strides, offsets); p.found() {
		return p
	}
	for i, s := range strides {
		if s > maxStride {
			return problemf(MessageInvalidArgument, "stride %d is %d, want at most %d", i, s, maxStride)
		}
	}
	return c.buffersProblem(MessageIASetVertexBuffersInvalidBuffer, bufs, BindVertexBuffer)
}

// indexProblem returns why the arguments of IASetIndexBuffer are invalid.
func (c *Context) indexProblem(b *Buffer, f dxgi.Format) problem {
	const id = MessageIASetIndexBufferInvalidBuffer
	switch {
	case f != FormatR16UInt && f != dxgi.R32UInt && (b != nil || f != dxgi.Unknown):
		return problemf(MessageInvalidArgument, "Format is %v (%d), want R16_UINT or R32_UINT", f, f)
	case b == nil:
		return problem{}
	case b.usable(c.dev) && b.bind&BindIndexBuffer == 0:
		return problemf(id, "BindFlags of the buffer is %#x, want the flag %#x", b.bind, BindIndexBuffer)
	}
	return b.misused(c.dev, id, "IndexBuffer")
}

// viewportAllowed reports whether the sizes of v are not negative and its
// depths are in [0, 1].
func viewportAllowed(v Viewport) bool {
	unit := func(z float32) bool { return z >= 0 && z <= 1 }
	return v.Width >= 0 && v.Height >= 0 && v.TopLeftX == v.TopLeftX && v.TopLeftY == v.TopLeftY &&
		unit(v.MinDepth) && unit(v.MaxDepth)
}

// viewportsProblem returns why the arguments of RSSetViewports are invalid.
func viewportsProblem(vps []Viewport) problem {
	if len(vps) > umddi.MaxViewports {
		return problemf(MessageInvalidSlots, "NumViewports is %d, want at most %d", len(vps), umddi.MaxViewports)
	}
	for i, v := range vps {
		if !viewportAllowed(v) {
			return problemf(MessageRSSetViewportsInvalidViewport,
				"viewport %d is %v, want sizes of at least 0 and depths from 0 to 1", i, v)
		}
	}
	return problem{}
}
