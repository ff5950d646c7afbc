package d3d11

import (
	"sync/atomic"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// Usage is D3D11_USAGE.
type Usage = umddi.Usage

// The usages.
const (
	UsageDefault   = umddi.UsageDefault
	UsageImmutable = umddi.UsageImmutable
	UsageDynamic   = umddi.UsageDynamic
	UsageStaging   = umddi.UsageStaging
)

// Bits of BindFlags (D3D11_BIND_FLAG).
const (
	BindVertexBuffer    = umddi.BindVertexBuffer
	BindIndexBuffer     = umddi.BindIndexBuffer
	BindConstantBuffer  = umddi.BindConstantBuffer
	BindShaderResource  = umddi.BindShaderResource
	BindStreamOutput    = umddi.BindStreamOutput
	BindRenderTarget    = umddi.BindRenderTarget
	BindDepthStencil    = umddi.BindDepthStencil
	BindUnorderedAccess = umddi.BindUnorderedAccess
)

// Bits of CPUAccessFlags (D3D11_CPU_ACCESS_FLAG).
const (
	CPUAccessWrite = 0x10000
	CPUAccessRead  = 0x20000
)

// Bits of MiscFlags (D3D11_RESOURCE_MISC_FLAG). Other bits are not supported.
const (
	MiscTextureCube         = 0x4
	MiscBufferAllowRawViews = 0x20
	MiscBufferStructured    = 0x40
)

// SubresourceData is D3D11_SUBRESOURCE_DATA. SysMem holds the rows of the
// subresource, SysMemPitch bytes apart. A buffer uses only SysMem.
type SubresourceData struct {
	SysMem           []byte
	SysMemPitch      uint32 // bytes
	SysMemSlicePitch uint32 // bytes; unused, since 3D textures are not supported
}

// A Resource is a *Buffer or a *Texture2D. A nil pointer stands for NULL.
type Resource interface {
	// AddRef and Release change the number of application references and return
	// it.
	AddRef() uint32
	Release() uint32

	// GetDevice returns a reference to the device that created the resource.
	GetDevice() *Device

	// SetEvictionPriority sets how long the resource keeps its place in video memory.
	SetEvictionPriority(priority uint32) error
	GetEvictionPriority() uint32

	core() *resource
}

// maxResource is the maximum size of a resource, in bytes
// (D3D11_REQ_RESOURCE_SIZE_IN_MEGABYTES_EXPRESSION_C_TERM).
const maxResource = 2048 << 20

// resource is the common part of buffers and textures. The fields above the
// blank line do not change after creation.
type resource struct {
	child

	obj       ddi.Object
	dimension umddi.Dimension
	usage     Usage
	bind      uint32
	access    uint32 // CPUAccess bits
	format    dxgi.Format
	bytes     uint32 // per element; 1 for a buffer
	width     uint32 // elements
	height    uint32
	mips      uint32
	layers    uint32
	stride    uint32 // bytes; 0 if not a structured buffer
	castable  bool   // a back buffer, whose views may be UNORM or SRGB
	primary   bool   // Create and Destroy use the immediate context's thread

	// Subresources mapped by the immediate context; nil if the CPU has no access.
	mapped []bool

	priority atomic.Uint32 // of eviction; 0: ResourcePriorityNormal
}

// coreOf returns the resource of r, or nil for NULL.
func coreOf(r Resource) *resource {
	if r == nil {
		return nil
	}
	return r.core()
}

// handle returns the driver's handle of r. A nil r has no object.
func (r *resource) handle() umddi.HResource {
	if r == nil {
		return umddi.HResource{}
	}
	return umddi.HResource{Object: &r.obj}
}

// subresources returns the number of subresources.
func (r *resource) subresources() uint32 { return r.mips * r.layers }

// extent returns the size of a subresource in elements.
func (r *resource) extent(sub uint32) (w, h uint32) {
	level := sub % r.mips
	return max(1, r.width>>level), max(1, r.height>>level)
}

// accessProblem returns why usage, bind and CPU access flags do not fit
// together. The IDs are those of a buffer.
//
//	Source  D3D11_USAGE, learn.microsoft.com, "Resource Usage Restrictions"
func accessProblem(usage Usage, bind, access uint32) problem {
	const input = BindVertexBuffer | BindIndexBuffer | BindConstantBuffer | BindShaderResource
	const both = CPUAccessWrite | CPUAccessRead
	if access&^both != 0 {
		return problemf(MessageCreateBufferUnrecognizedCPUAccessFlags, "CPUAccessFlags is %#x, want bits of %#x", access, both)
	}
	cpu := func(ok bool, want string) problem {
		if ok {
			return problem{}
		}
		return problemf(MessageCreateBufferInvalidCPUAccessFlags, "CPUAccessFlags is %#x, want %s for usage %d", access, want, usage)
	}
	inputs := func() problem {
		if bind != 0 && bind&^input == 0 {
			return problem{}
		}
		return problemf(MessageCreateBufferInvalidBindFlags, "BindFlags is %#x, want flags of %#x for usage %d", bind, input, usage)
	}
	switch usage {
	case UsageDefault:
		return cpu(access == 0, "0")
	case UsageImmutable:
		return first(inputs(), cpu(access == 0, "0"))
	case UsageDynamic:
		return first(inputs(), cpu(access == CPUAccessWrite, "CPUAccessWrite"))
	case UsageStaging:
		if bind != 0 {
			return problemf(MessageCreateBufferInvalidBindFlags, "BindFlags is %#x, want 0 for usage %d", bind, usage)
		}
		return cpu(access != 0, "CPUAccessRead or CPUAccessWrite")
	}
	return problemf(MessageCreateBufferUnrecognizedUsage, "Usage is %d, want %d to %d", usage, UsageDefault, UsageStaging)
}

// initialProblem returns a problem unless initial data has one element per
// subresource, each with all its rows. Only immutable resources require initial
// data. The IDs are those of a buffer.
func (r *resource) initialProblem(init []SubresourceData) problem {
	const id = MessageCreateBufferInvalidInitialData
	if init == nil {
		if r.usage == UsageImmutable {
			return problem{id, "InitialData is nil, want data for an immutable resource"}
		}
		return problem{}
	}
	if uint64(len(init)) != uint64(r.subresources()) {
		return problemf(id, "InitialData has %d elements, want one for each of %d subresources", len(init), r.subresources())
	}
	for i := range init {
		w, h := r.extent(uint32(i))
		s := &init[i]
		if need := span(w*r.bytes, h, s.SysMemPitch); s.SysMem == nil || uint64(len(s.SysMem)) < need {
			return problemf(id, "SysMem of subresource %d has %d bytes, want %d", i, len(s.SysMem), need)
		}
	}
	return problem{}
}

// span returns the number of bytes from the start of the first row to the end
// of row h-1.
func span(row, h, pitch uint32) uint64 {
	return uint64(h-1)*uint64(pitch) + uint64(row)
}

// create creates the driver's object of r for a call of the API. On failure
// there is none.
//
//	DDI     pfnCalcPrivateResourceSize, pfnCreateResource,
//	        pfnCalcDeferredContextHandleSize
func (r *resource) create(d *Device, api string, init []SubresourceData, misc uint32, present bool) error {
	arg := r.describe(init, misc)
	arg.Primary = r.primary
	if present {
		arg.BindFlags |= umddi.BindPresent
	}
	if r.access != 0 {
		r.mapped = make([]bool, r.subresources())
	}
	k := r.thread(d)
	defer d.releaseCall(k)
	k.enter(api)
	defer k.leave(api)
	return k.failed(api, r.createOn(k, arg))
}

// createOn is create with the thread and the description.
func (r *resource) createOn(k *call, arg *umddi.CreateResource) ddi.HRESULT {
	d := k.dev
	n := d.funcs.CalcPrivateResourceSize(k.begin("pfnCalcPrivateResourceSize", 0), d.h, arg)
	hr := k.end()
	if hr != ddi.OK {
		return hr
	}
	var ok bool
	if r.obj, ok = private(n); !ok {
		return k.sizeBroken(n)
	}
	d.funcs.CreateResource(k.begin("pfnCreateResource", mayCreate|r.refreshes()), d.h, arg, r.handle(), umddi.HRTResource{Runtime: r})
	if hr = k.end(); hr != ddi.OK {
		return hr
	}
	if r.localSize, hr = k.localSize(umddi.HandleResource, &r.obj); hr != ddi.OK {
		r.destroyHandle(k, d)
	}
	return hr
}

func (r *resource) destroyHandle(k *call, d *Device) {
	d.funcs.DestroyResource(k.begin("pfnDestroyResource", mayRemove|r.refreshes()), d.h, r.handle())
	k.end()
}

// refreshes returns the permission to refresh state for the functions that
// create and destroy r. Those of a primary are functions of the immediate
// context's thread.
//
//	Source  WDK, "Supporting Threading, Command Lists, and 3D Pipeline"
func (r *resource) refreshes() results {
	if r.primary {
		return inContext
	}
	return 0
}

// thread returns the call that creates and destroys r. The caller must pass it
// to releaseCall.
func (r *resource) thread(d *Device) *call {
	if r.primary {
		return d.immediate.call
	}
	return d.acquireCall()
}

// describe returns the driver's description of r.
func (r *resource) describe(init []SubresourceData, misc uint32) *umddi.CreateResource {
	arg := &umddi.CreateResource{
		MipInfoList:       make([]umddi.MipInfo, r.mips),
		ResourceDimension: r.dimension,
		Usage:             r.usage,
		BindFlags:         r.bind,
		MiscFlags:         misc,
		Format:            r.format,
		SampleDesc:        dxgi.SampleDesc{Count: 1},
		MipLevels:         r.mips,
		ArraySize:         r.layers,
		ByteStride:        r.stride,
	}
	for i := range arg.MipInfoList {
		w, h := r.extent(uint32(i))
		arg.MipInfoList[i] = umddi.MipInfo{TexelWidth: w, TexelHeight: h}
	}
	for i := range init {
		s := &init[i]
		arg.InitialDataUP = append(arg.InitialDataUP,
			umddi.SubresourceUP{SysMem: s.SysMem, RowPitch: s.SysMemPitch, SlicePitch: s.SysMemSlicePitch})
	}
	if r.access&CPUAccessWrite != 0 {
		arg.MapFlags |= umddi.CPUWrite
	}
	if r.access&CPUAccessRead != 0 {
		arg.MapFlags |= umddi.CPURead
	}
	return arg
}

// destroy unmaps r and destroys the driver's object.
func (r *resource) destroy() {
	d := r.dev
	k := r.thread(d)
	k.enter("Release")
	for sub, m := range r.mapped {
		if m {
			k.unmap(r, uint32(sub), mayRemove)
		}
	}
	r.destroyHandle(k, d)
	k.leave("Release")
	d.releaseCall(k)
}
