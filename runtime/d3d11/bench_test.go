package d3d11

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
)

// fakeKernel counts devices and returns status from every thunk but
// DestroyDevice.
type fakeKernel struct {
	status  ddi.Status
	devices int
	calls   []string
}

func (k *fakeKernel) thunks() kmt.Thunks {
	on := func(name string) ddi.Status {
		k.calls = append(k.calls, name)
		return k.status
	}
	return kmt.Thunks{
		QueryAdapterInfo: func(_ *ddi.Thread, p []byte) ddi.Status { return on("QueryAdapterInfo") },
		CreateDevice: func(*ddi.Thread) (ddi.KMHandle, ddi.Status) {
			if k.status == ddi.StatusSuccess {
				k.devices++
			}
			return 7, k.status
		},
		DestroyDevice: func(_ *ddi.Thread, dev ddi.KMHandle) ddi.Status {
			if dev == 7 {
				k.devices--
			}
			return ddi.StatusSuccess
		},
		CreateContext:         func(*ddi.Thread, ddi.KMHandle, *umddi.CreateContext) ddi.Status { return on("CreateContext") },
		DestroyContext:        func(*ddi.Thread, ddi.KMHandle) ddi.Status { return on("DestroyContext") },
		CreateAllocation:      func(*ddi.Thread, ddi.KMHandle, *umddi.Allocate) ddi.Status { return on("CreateAllocation") },
		DestroyAllocation:     func(*ddi.Thread, ddi.KMHandle, *umddi.Deallocate) ddi.Status { return on("DestroyAllocation") },
		Lock:                  func(*ddi.Thread, ddi.KMHandle, *umddi.Lock) ddi.Status { return on("Lock") },
		Unlock:                func(*ddi.Thread, ddi.KMHandle, *umddi.Unlock) ddi.Status { return on("Unlock") },
		OfferAllocations:      func(*ddi.Thread, ddi.KMHandle, *umddi.OfferAllocations) ddi.Status { return on("OfferAllocations") },
		ReclaimAllocations:    func(*ddi.Thread, ddi.KMHandle, *umddi.ReclaimAllocations) ddi.Status { return on("ReclaimAllocations") },
		SetAllocationPriority: func(*ddi.Thread, ddi.KMHandle, *umddi.SetPriority) ddi.Status { return on("SetAllocationPriority") },
		Render:                func(*ddi.Thread, ddi.KMHandle, *umddi.Render) ddi.Status { return on("Render") },
		Present:               func(*ddi.Thread, ddi.KMHandle, *umddi.PresentCB) ddi.Status { return on("Present") },
		WaitForIdle:           func(*ddi.Thread, ddi.KMHandle) ddi.Status { return on("WaitForIdle") },
	}
}

// bench is a device with a fake driver and kernel.
type bench struct {
	*testing.T
	drv  *fakeDriver
	kern *fakeKernel
	dev  *Device
	ctx  *Context

	monitor *verifier.Monitor
	breaks  []string // verifier rules that the driver may break in the test
}

// newBench creates a device; in the tests under TestNative the driver
// supports command lists. At the end of the test neither the driver nor the
// verifier may have seen a broken rule, except those in breaks and, if the
// driver caused removal, other rules for the driver. No object may be left.
func newBench(t *testing.T, change ...func(*fakeDriver, *Config)) *bench {
	t.Helper()
	b := &bench{T: t, drv: newFakeDriver(), kern: &fakeKernel{}}
	cfg := Config{Driver: b.drv.openAdapter, Kernel: b.kern.thunks(), Process: 3, Seed: 1}
	if strings.HasPrefix(t.Name(), "TestNative/") {
		natively(b.drv, &cfg)
	}
	for _, c := range change {
		c(b.drv, &cfg)
	}
	monitor, err := verifier.NewMonitor(verifier.Options{Collect: true})
	require.NoError(t, err)
	// Without the monitor's guard, the runtime gets callbacks that break a rule.
	cfg.Driver = verifier.WrapUserMode(cfg.Driver, nil, verifier.Hooks(monitor, verifier.New(monitor)))
	b.monitor = monitor
	b.dev, b.ctx, err = CreateDevice(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		broken := errors.Is(b.dev.GetDeviceRemovedReason(), ddi.DXGIInternalError)
		b.dev.Close()
		for _, v := range monitor.Violations() {
			known := slices.Contains(b.breaks, v.Rule.Name) || broken && v.Rule.Fault == rule.Driver
			assert.True(t, known, v.Report())
		}
		assert.Empty(t, b.drv.broken)
		assert.Empty(t, b.drv.resources)
		assert.Empty(t, b.drv.views)
		assert.Empty(t, b.drv.queries)
		assert.Empty(t, b.drv.native.lists)
		assert.Empty(t, b.drv.native.contexts)
		assert.Zero(t, b.drv.open)
		assert.Zero(t, b.kern.devices)
	})
	return b
}

// buffer creates a buffer of 16 bytes. A buffer that is not dynamic contains 0
// to 15.
func (b *bench) buffer(usage Usage, bind, access uint32) *Buffer {
	b.Helper()
	var init *SubresourceData
	if usage != UsageDynamic {
		init = &SubresourceData{SysMem: ramp(0, 16)}
	}
	buf, err := b.dev.CreateBuffer(BufferDesc{ByteWidth: 16, Usage: usage, BindFlags: bind, CPUAccessFlags: access}, init)
	require.NoError(b, err)
	return buf
}

func (b *bench) constant() *Buffer { return b.buffer(UsageDefault, BindConstantBuffer, 0) }

func (b *bench) dynamic(bind uint32) *Buffer { return b.buffer(UsageDynamic, bind, CPUAccessWrite) }

func (b *bench) staging(access uint32) *Buffer { return b.buffer(UsageStaging, 0, access) }

// texture creates a render target.
func (b *bench) texture(w, h, mips, layers uint32, f dxgi.Format) *Texture2D {
	b.Helper()
	t, err := b.dev.CreateTexture2D(Texture2DDesc{Width: w, Height: h, MipLevels: mips, ArraySize: layers, Format: f,
		SampleDesc: dxgi.SampleDesc{Count: 1}, BindFlags: BindRenderTarget}, nil)
	require.NoError(b, err)
	return t
}

func (b *bench) view(t *Texture2D) *RenderTargetView {
	b.Helper()
	v, err := b.dev.CreateRenderTargetView(t, nil)
	require.NoError(b, err)
	return v
}

func (b *bench) deferred() *Context {
	b.Helper()
	c, err := b.dev.CreateDeferredContext(0)
	require.NoError(b, err)
	return c
}

func (b *bench) finish(c *Context, restore bool) *CommandList {
	b.Helper()
	l, err := c.FinishCommandList(restore)
	require.NoError(b, err)
	return l
}

// ramp returns n bytes counting up from first.
func ramp(first byte, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = first + byte(i)
	}
	return p
}

// check asserts that an error has the result hr, nil for S_OK, and names the call
// and the cause.
func check(t assert.TestingT, want ddi.HRESULT, err error, args ...any) {
	if want == ddi.OK {
		assert.NoError(t, err, args...)
		return
	}
	if want == ddi.False {
		assert.Equal(t, error(want), err, args...)
		return
	}
	var e *Error
	if assert.ErrorAs(t, err, &e, args...) {
		assert.Equal(t, want, e.HRESULT, args...)
		assert.ErrorIs(t, err, want)
		assert.Regexp(t, `^[A-Z]\w+$`, e.Call, args...)
		assert.NotEmpty(t, e.Text, "%s: %v", e.Call, args)
		assert.NotContains(t, err.Error(), "\n")
	}
}
