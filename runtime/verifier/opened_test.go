package verifier

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// opens opens another adapter. The driver asks the kernel, which answers with a
// result, and returns hr.
func (r *rig) opens(hr, answer ddi.HRESULT) {
	open := WrapUserMode(func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		arg.Callbacks.QueryAdapterInfoCb(t, arg.RTAdapter, make([]byte, 40))
		return hr
	}, r.m, Hooks(r.m, r.k))
	open(r.th, &umddi.OpenAdapter{
		Adapter: umddi.HAdapter{Root: new(ddi.Root)}, Funcs: new(umddi.AdapterFuncs),
		Callbacks: &umddi.AdapterCallbacks{QueryAdapterInfoCb: func(*ddi.Thread, umddi.HRTAdapter, []byte) ddi.HRESULT { return answer }},
	})
}

// A driver that does not open an adapter is told what it was given.
func TestOpenFailed(t *testing.T) {
	r := newRig(t, Options{Collect: true}, 0)
	r.opens(ddi.DXGIUnsupported, ddi.OK)
	require.Len(t, r.m.Violations(), 1)
	v := r.m.Violations()[0]
	assert.Equal(t, "OpenAdapter10_2", v.Function)
	assert.Equal(t, "returns DXGI_ERROR_UNSUPPORTED after pfnQueryAdapterInfoCb returned 40 bytes of DxgkDdiQueryAdapterInfo, but no callback failed", v.Text)
	assert.ErrorIs(t, v, ddi.DXGIUnsupported)
}
