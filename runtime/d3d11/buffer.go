package d3d11

import "github.com/hilgpu/hilgpu/runtime/ddi/umddi"

// BufferDesc is D3D11_BUFFER_DESC.
type BufferDesc struct {
	ByteWidth           uint32 // a multiple of 16 for a constant buffer
	Usage               Usage
	BindFlags           uint32 // Bind bits
	CPUAccessFlags      uint32 // CPUAccess bits
	MiscFlags           uint32 // MiscBuffer bits
	StructureByteStride uint32 // bytes; 0 unless MiscBufferStructured
}

// A Buffer is ID3D11Buffer. Its only subresource is 0.
type Buffer struct {
	resource

	desc BufferDesc
}

// Limits of buffers, in bytes (d3d11.h).
const (
	maxConstantBuffer = 4096 * 16
	maxStructure      = 2048
)

// CreateBuffer creates a buffer. If init is not nil, the buffer gets its data.
//
//	DDI     pfnCalcPrivateResourceSize, pfnCreateResource
//	In      desc: the flags must be compatible. init.SysMem: at least ByteWidth
//	        bytes, copied; required for an immutable buffer
//	Returns EInvalidArg, EOutOfMemory, DXGIDeviceRemoved
//	Source  learn.microsoft.com, nf-d3d11-id3d11device-createbuffer
func (d *Device) CreateBuffer(desc BufferDesc, init *SubresourceData) (*Buffer, error) {
	const api = "CreateBuffer"
	if d.removed() {
		return nil, d.gone(nil, api)
	}
	if desc.MiscFlags&MiscBufferStructured == 0 {
		desc.StructureByteStride = 0
	}
	var all []SubresourceData
	if init != nil {
		all = []SubresourceData{*init}
	}
	b := &Buffer{desc: desc}
	b.resource = resource{
		dimension: umddi.Buffer,
		usage:     desc.Usage,
		bind:      desc.BindFlags,
		access:    desc.CPUAccessFlags,
		bytes:     1,
		width:     desc.ByteWidth,
		height:    1,
		mips:      1,
		layers:    1,
		stride:    desc.StructureByteStride,
	}
	p := desc.problem()
	if !p.found() {
		p = b.initialProblem(all)
	}
	if p.found() {
		return nil, d.refuse(nil, api, p)
	}
	if err := b.create(d, api, all, desc.MiscFlags, false); err != nil {
		return nil, err
	}
	b.adopt(d, b)
	return b, nil
}

// problem returns why desc is invalid.
func (desc *BufferDesc) problem() problem {
	const binds = BindVertexBuffer | BindIndexBuffer | BindConstantBuffer | BindShaderResource |
		BindStreamOutput | BindRenderTarget | BindUnorderedAccess
	if p := limits(MessageCreateBufferInvalidDimensions, "ByteWidth", uint64(desc.ByteWidth), 1, maxResource); p.found() {
		return p
	}
	if desc.BindFlags&^binds != 0 {
		return problemf(MessageCreateBufferUnrecognizedBindFlags, "BindFlags is %#x, want bits of %#x", desc.BindFlags, binds)
	}
	if p := accessProblem(desc.Usage, desc.BindFlags, desc.CPUAccessFlags); p.found() {
		return p
	}
	if desc.BindFlags&BindConstantBuffer != 0 {
		if p := desc.constantProblem(); p.found() {
			return p
		}
	}
	return desc.miscProblem()
}

// constantProblem returns why a constant buffer is invalid.
func (desc *BufferDesc) constantProblem() problem {
	if desc.BindFlags != BindConstantBuffer {
		return problemf(MessageCreateBufferInvalidConstantBufferBindings,
			"BindFlags is %#x, want a constant buffer to have no flag but %#x", desc.BindFlags, BindConstantBuffer)
	}
	if desc.ByteWidth%16 != 0 || desc.ByteWidth > maxConstantBuffer {
		return problemf(MessageCreateBufferInvalidDimensions,
			"ByteWidth of a constant buffer is %d, want a multiple of 16 up to %d", desc.ByteWidth, maxConstantBuffer)
	}
	return problem{}
}

// miscProblem returns why the flags of structured and raw buffers are invalid.
func (desc *BufferDesc) miscProblem() problem {
	const views = BindShaderResource | BindUnorderedAccess
	const id = MessageCreateBufferInvalidMiscFlags
	switch desc.MiscFlags {
	case 0:
		return problem{}
	case MiscBufferAllowRawViews:
		if desc.BindFlags&views == 0 || desc.BindFlags&BindConstantBuffer != 0 {
			return problemf(id, "BindFlags is %#x, want a flag of %#x for a buffer with raw views", desc.BindFlags, views)
		}
		if desc.ByteWidth%4 != 0 {
			return problemf(id, "ByteWidth is %d, want a multiple of 4 for a buffer with raw views", desc.ByteWidth)
		}
		return problem{}
	case MiscBufferStructured:
		if desc.BindFlags&^views != 0 {
			return problemf(id, "BindFlags is %#x, want flags of %#x for a structured buffer", desc.BindFlags, views)
		}
		if s := desc.StructureByteStride; s == 0 || s%4 != 0 || s > maxStructure || desc.ByteWidth%s != 0 {
			return problemf(MessageCreateBufferInvalidStructureStride,
				"StructureByteStride is %d, want a multiple of 4 up to %d that divides ByteWidth %d", s, maxStructure, desc.ByteWidth)
		}
		return problem{}
	}
	return problemf(MessageCreateBufferUnrecognizedMiscFlags, "MiscFlags is %#x, want 0, %#x or %#x",
		desc.MiscFlags, MiscBufferAllowRawViews, MiscBufferStructured)
}

// GetDesc returns the description of the buffer. The stride is 0 unless it is a
// structured buffer.
func (b *Buffer) GetDesc() BufferDesc { return b.desc }

func (b *Buffer) core() *resource {
	if b == nil {
		return nil
	}
	return &b.resource
}
