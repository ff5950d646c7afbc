package d3d11

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

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
	if d.removed() {
		return nil, ddi.DXGIDeviceRemoved
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
	if !desc.allowed() || !b.initialAllowed(all) {
		return nil, ddi.EInvalidArg
	}
	if hr := b.create(d, all, desc.MiscFlags, false); hr != ddi.OK {
		return nil, hr
	}
	b.adopt(d, b)
	return b, nil
}

// allowed reports whether desc is valid.
func (desc *BufferDesc) allowed() bool {
	const binds = BindVertexBuffer | BindIndexBuffer | BindConstantBuffer | BindShaderResource |
		BindStreamOutput | BindRenderTarget | BindUnorderedAccess
	if desc.ByteWidth == 0 || desc.ByteWidth > maxResource || desc.BindFlags&^binds != 0 {
		return false
	}
	if !accessAllowed(desc.Usage, desc.BindFlags, desc.CPUAccessFlags) {
		return false
	}
	if desc.BindFlags&BindConstantBuffer != 0 {
		if desc.BindFlags != BindConstantBuffer || desc.ByteWidth%16 != 0 || desc.ByteWidth > maxConstantBuffer {
			return false
		}
	}
	return desc.miscAllowed()
}

// miscAllowed reports whether the flags of structured and raw buffers are
// valid.
func (desc *BufferDesc) miscAllowed() bool {
	const views = BindShaderResource | BindUnorderedAccess
	switch desc.MiscFlags {
	case 0:
		return true
	case MiscBufferAllowRawViews:
		return desc.BindFlags&views != 0 && desc.BindFlags&BindConstantBuffer == 0 && desc.ByteWidth%4 == 0
	case MiscBufferStructured:
		s := desc.StructureByteStride
		return s != 0 && s%4 == 0 && s <= maxStructure && desc.ByteWidth%s == 0 && desc.BindFlags&^views == 0
	}
	return false
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
