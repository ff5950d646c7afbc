package suite

import (
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
)

// steps numbers the functions as "Submitting a Command Buffer" (WDK) does.
var steps = map[string]string{
	"pfnPresent": "1 Present", "pfnFlush": "1 Flush", "pfnStagingResourceMap": "1 Lock", "pfnResourceCopy": "1 copy",
	"pfnRenderCb": "2 RenderCb", "pfnPresentCb": "2 PresentCb",
	"DxgkDdiRender": "3 Render", "DxgkDdiPresent": "3 Present",
	"DxgkDdiBuildPagingBuffer": "4 BuildPagingBuffer",
	"DxgkDdiPatch":             "5 Patch",
	"DxgkDdiSubmitCommand":     "7 SubmitCommand", // 6 for a paging buffer
	"DxgkDdiInterruptRoutine":  "8 InterruptRoutine",
	"DxgkCbNotifyInterrupt":    "9 NotifyInterrupt",
	"DxgkCbQueueDpc":           "10 QueueDpc",
	"DxgkDdiDpcRoutine":        "11 DpcRoutine",
	"pfnLockCb":                "LockCb",
}

// recorder is a Hook that records the steps in order of entry.
type recorder struct {
	mu   sync.Mutex
	list []string
}

func (r *recorder) Enter(_ *ddi.Thread, f *verifier.Func, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	step, ok := steps[f.Name]
	if !ok {
		return
	}
	for _, a := range args {
		if s, ok := a.(kmddi.SubmitCommand); ok && s.Flags.Paging {
			step = "6 SubmitCommand, paging"
		}
	}
	r.list = append(r.list, step)
}

// Leave removes a request for a DPC that is queued already, which has no effect.
func (r *recorder) Leave(_ *ddi.Thread, f *verifier.Func, results ...any) {
	if f.Name != "DxgkCbQueueDpc" || results[0].(bool) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.list) - 1; n >= 0 && r.list[n] == steps[f.Name] {
		r.list = r.list[:n]
	}
}

// since returns the steps from the nth on.
func (r *recorder) since(n int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list[n:])
}

// rig is an idle system with a GPU-only texture in VRAM and two textures in host
// memory.
type rig struct {
	*recorder
	sys         *testbench.System
	ctx         *d3d11.Context
	chain       *d3d11.SwapChain
	local       *d3d11.Texture2D
	write, read *d3d11.Texture2D
}

func newRig(t *T) *rig {
	t.Helper()
	if faults := injected(t.Selector); faults != "" {
		t.Skipf("the board injects faults, fault=%s, and this case counts each step", faults)
	}
	if t.queues.Use {
		t.Skipf("the firmware raises events after its answers, and this case counts each step")
	}
	r := &rig{recorder: new(recorder)}
	r.sys = t.Open(testbench.Options{Hook: r.recorder})
	dev, ctx, err := r.sys.CreateDevice()
	require.NoError(t, err, "CreateDevice succeeds")
	r.ctx = ctx
	t.Cleanup(func() {
		dev.Close()
	})
	r.chain, err = dev.CreateSwapChain(d3d11.SwapChainDesc{Width: 16, Height: 16, Format: dxgi.R8G8B8A8UNorm, BufferCount: 1})
	require.NoError(t, err, "CreateSwapChain succeeds")
	for _, tex := range []struct {
		to        **d3d11.Texture2D
		usage     d3d11.Usage
		bind, cpu uint32
	}{
		{&r.local, d3d11.UsageDefault, d3d11.BindShaderResource, 0},
		{&r.write, d3d11.UsageStaging, 0, d3d11.CPUAccessWrite},
		{&r.read, d3d11.UsageStaging, 0, d3d11.CPUAccessRead},
	} {
		*tex.to, err = dev.CreateTexture2D(d3d11.Texture2DDesc{
			Width: 16, Height: 16, MipLevels: 1, ArraySize: 1, Format: dxgi.R8G8B8A8UNorm,
			SampleDesc: dxgi.SampleDesc{Count: 1}, Usage: tex.usage, BindFlags: tex.bind, CPUAccessFlags: tex.cpu,
		}, nil)
		require.NoError(t, err, "CreateTexture2D succeeds")
	}
	return r
}

// injected returns the faults that a selector injects into the device, or "".
func injected(selector string) string {
	_, options, _ := strings.Cut(selector, "?")
	v, _ := url.ParseQuery(options) // a selector that cannot be parsed does not open
	return v.Get("fault")
}

// The steps of a submission after its first three.
var (
	done   = []string{"8 InterruptRoutine", "9 NotifyInterrupt", "10 QueueDpc", "11 DpcRoutine"}
	paging = []string{"4 BuildPagingBuffer", "6 SubmitCommand, paging"}
	submit = []string{"5 Patch", "7 SubmitCommand"}
	shared = []string{"4 BuildPagingBuffer", "5 Patch", "6 SubmitCommand, paging", "7 SubmitCommand"} // of both, on one node
)

// onePaging returns the steps as if one paging buffer had moved everything: a driver
// may need several. Their interrupts come before the DMA buffer, or together with its
// own on a GPU with one node.
func onePaging(list []string) (out []string) {
	found, extra := false, 0 // extra: paging buffers left out whose interrupts follow
	for i := 0; i < len(list); {
		n := 1
		switch rest := list[i:]; {
		case len(rest) > 1 && rest[0] == paging[0] && rest[1] == paging[0]:
			i++ // the DMA buffer was too small
			continue
		case i > 0 && rest[0] == paging[1] && list[i-1] == paging[1]:
			i++ // on one node all are submitted together
			extra++
			continue
		case startsWith(rest, paging):
			n = len(paging)
			if found {
				extra++
				i += n
				continue
			}
			found = true
		case startsWith(rest, done):
			n = len(done)
			if extra > 0 {
				extra--
				i += n
				continue
			}
		}
		out = append(out, list[i:i+n]...)
		i += n
	}
	return out
}

// startsWith reports whether the list begins with the given steps.
func startsWith(list, steps []string) bool {
	return len(list) >= len(steps) && slices.Equal(list[:len(steps)], steps)
}

// checkOrder submits twice. Each submission takes the steps of "Submitting a
// Command Buffer" in order: all eleven if a referenced allocation is not resident,
// otherwise all except 4 and 6. A paging buffer runs on the other node, so steps 5 and
// 7 follow the paging buffer's own steps 8 to 11: which DMA buffer a node gets next is
// known when it has room, and the patched address and the fence are those of that time.
func checkOrder(t *T, r *rig, begin []string, act func()) { checkOrderOf(t, r, begin, onePaging, act) }

// checkOrderOf is checkOrder for the steps that see returns of the recorded ones.
func checkOrderOf(t *T, r *rig, begin []string, see func([]string) []string, act func()) {
	if r.sys.Nodes() == 1 {
		t.Skipf("the miniport reports NumberOfNodes 1; this case needs a second node, for paging (PagingNode)")
	}
	for _, state := range []struct {
		name string
		want []string
	}{
		{"not resident", slices.Concat(begin, paging, done, submit, done)},
		{"resident", slices.Concat(begin, submit, done)},
	} {
		require.NoError(t, r.sys.WaitForIdle(), "the GPU becomes idle")
		n := len(r.since(0))
		act()
		require.NoError(t, r.sys.WaitForIdle(), "the GPU becomes idle")
		assert.Equal(t, state.want, see(trim(r.since(n), begin[0])), "the steps of a submission in order, for an allocation that is %s", state.name)
	}
}

func orderOfFlush(t *T) { checkFlush(t, onePaging) }

// orderOfOnePagingBuffer checks that one paging buffer is enough for a small texture.
func orderOfOnePagingBuffer(t *T) { checkFlush(t, oneOperation) }

// oneOperation returns the steps as if one operation had moved everything: the operations in
// one paging buffer are as many as there are allocations to move.
func oneOperation(list []string) []string {
	return slices.CompactFunc(slices.Clone(list), func(a, b string) bool { return a == paging[0] && b == paging[0] })
}

func checkFlush(t *T, see func([]string) []string) {
	r := newRig(t)
	checkOrderOf(t, r, []string{"1 Flush", "2 RenderCb", "3 Render"}, see, func() {
		r.ctx.CopyResource(r.local, r.write)
		r.ctx.Flush()
	})
}

// orderOfPresent uses a back buffer that was used before, and a primary that was
// not.
func orderOfPresent(t *T) {
	r := newRig(t)
	back, err := r.chain.GetBuffer(0)
	require.NoError(t, err, "GetBuffer(0) succeeds")
	r.ctx.CopyResource(back, r.write)
	r.ctx.Flush()
	back.Release()
	checkOrder(t, r, []string{"1 Present", "2 PresentCb", "3 Present"}, func() {
		require.NoError(t, r.chain.Present(0, 0), "Present succeeds")
	})
}

func orderOfLock(t *T) {
	r := newRig(t)
	checkOrder(t, r, []string{"1 Lock", "2 RenderCb", "3 Render"}, func() {
		r.ctx.CopyResource(r.read, r.local)
		var m d3d11.MappedSubresource
		require.NoError(t, r.ctx.Map(r.read, 0, d3d11.MapRead, 0, &m), "Map(READ) of a staging texture succeeds")
		r.ctx.Unmap(r.read, 0)
	})
}

func orderOfFullBuffer(t *T) {
	r := newRig(t)
	checkOrder(t, r, []string{"1 copy", "2 RenderCb", "3 Render"}, func() {
		for n := len(r.since(0)); !slices.Contains(r.since(n), "2 RenderCb"); {
			r.ctx.CopyResource(r.local, r.write)
		}
	})
}

// trim drops the steps before the call that starts the submission, which is the
// last first before a step 2. It also drops steps that are not part of the
// submission: later copies, and the callback of a Lock.
func trim(list []string, first string) []string {
	at := slices.IndexFunc(list, func(s string) bool { return s[0] == '2' })
	if at < 1 || list[at-1] != first {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list[at-1:]), func(s string) bool {
		return s == "LockCb" || s == "1 copy" && first != "1 copy"
	})
}

// presentSubmitsPendingWorkFirst checks that RenderCb precedes Present's own
// callback.
func presentSubmitsPendingWorkFirst(t *T) {
	r := newRig(t)
	n := len(r.since(0))
	r.ctx.CopyResource(r.local, r.write)
	require.NoError(t, r.chain.Present(0, 0), "Present succeeds")
	var got []string
	for _, s := range r.since(n) {
		if s[0] >= '1' && s[0] <= '3' && s[1] == ' ' {
			got = append(got, s)
		}
	}
	assert.Equal(t, []string{"1 copy", "1 Present", "2 RenderCb", "3 Render", "2 PresentCb", "3 Present"}, got, "RenderCb with the pending copy precedes PresentCb")
}

// orderOnOneNode checks that a paging buffer precedes its DMA buffer in the same
// ring, without a wait. The second may complete at any time after the first, so their interrupts may
// be reported together.
func orderOnOneNode(t *T) {
	r := newRig(t)
	if r.sys.Nodes() != 1 {
		t.Skipf("the miniport reports NumberOfNodes %d; this case needs a miniport or a board with one", r.sys.Nodes())
	}
	n := len(r.since(0))
	r.ctx.CopyResource(r.local, r.write)
	r.ctx.Flush()
	require.NoError(t, r.sys.WaitForIdle(), "the GPU becomes idle")
	want := slices.Concat([]string{"1 copy", "1 Flush", "2 RenderCb", "3 Render"}, shared)
	got := onePaging(r.since(n))
	if startsWith(got, want) && together(got[len(want):]) {
		return
	}
	assert.Equal(t, slices.Concat(want, done, done), got,
		"the steps of a submission in order; the paging buffer and the DMA buffer share a ring")
}

// together reports whether the list has the steps of two completions, the second of which comes before the
// DPC of the first one: with a report of its own, or in that of the first one.
func together(list []string) bool {
	first, dpc := done[:3], done[3:]
	for _, second := range [][]string{first[:1], first[:2], first} {
		for _, all := range [][]string{slices.Concat(first, second, dpc), slices.Concat(first, dpc, second[:1])} {
			if slices.Equal(list, all) {
				return true
			}
		}
	}
	return false
}
