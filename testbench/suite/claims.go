package suite

import (
	"bytes"
	"slices"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
)

// lastFormat is the largest value of a format that is asked for.
const lastFormat = 0xff

// claimedFormats uses each format that pfnCheckFormatSupport claims for what it is
// claimed for.
func claimedFormats(t *T) {
	d := newD3D(t)
	claimed := 0
	for f := dxgi.Format(1); f <= lastFormat; f++ {
		support, err := d.dev.CheckFormatSupport(f)
		if err != nil {
			continue // not claimed
		}
		claimed++
		info, ok := f.Info()
		require.True(t, ok, "format %d is one that the runtime knows", f)
		data := [][]byte{count(int(f), 6*5*info.Bytes), count(int(f)+1, 3*2*info.Bytes)}
		tex := d.texture(f, 6, 5, 2, 1, d3d11.UsageDefault, 0, data...)
		for i, want := range data {
			same(t, want, d.texels(tex, uint32(i)), "FORMAT_TEXTURE2D: mip level %d of a texture in %v has its initial data", i, f)
		}
		tex.Release()
		if support&d3d11.FormatSupportRenderTarget != 0 {
			d.renders(f, info.Bytes)
		}
	}
	assert.NotZero(t, claimed, "pfnCheckFormatSupport claims a format")
}

// renders clears a target of a format that is claimed for it.
func (d *d3d) renders(f dxgi.Format, size int) {
	d.t.Helper()
	levels, err := d.dev.CheckMultisampleQualityLevels(f, 1)
	require.NoError(d.t, err, "CheckMultisampleQualityLevels of 1 sample succeeds")
	assert.NotZero(d.t, levels, "pfnCheckMultisampleQualityLevels: a render target of 1 sample in %v has a quality level", f)
	tex := d.texture(f, 5, 3, 1, 1, d3d11.UsageDefault, d3d11.BindRenderTarget, bytes.Repeat([]byte{0xff}, 5*3*size))
	d.clearTo(d.ctx, tex, [4]float32{})
	same(d.t, make([]byte, 5*3*size), d.texels(tex, 0), "FORMAT_RENDERTARGET: a clear of %v to 0 makes all bytes 0", f)
	tex.Release()
}

// An addressHook keeps the HighestAcceptableAddress of a miniport.
type addressHook struct {
	mu      sync.Mutex
	highest uint64
}

func (a *addressHook) Enter(*ddi.Thread, *verifier.Func, ...any) {}

func (a *addressHook) Leave(_ *ddi.Thread, _ *verifier.Func, results ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range results {
		if out, ok := r.(kmddi.QueryAdapterInfoOut); ok && out.DriverCaps.HighestAcceptableAddress != 0 {
			a.highest = out.DriverCaps.HighestAcceptableAddress
		}
	}
}

// claimedAddress uses memory just below the highest address that the miniport
// claims, or below the end of what a PC can have.
func claimedAddress(t *T) {
	const room, pcBytes, size = 256 << 20, 1 << 52, 64 << 10
	a := &addressHook{}
	sys := t.Open(testbench.Options{Hook: a, HostMemory: pcBytes})
	a.mu.Lock()
	end := min(a.highest, pcBytes-1) + 1
	a.mu.Unlock()
	if end < hal.HoleEnd+room {
		end = min(end, hal.HoleBase) // a PC has no memory in between
	}
	from := max(end, hal.MemBase+room) - room
	sys.AllocateFrom(from &^ (hal.PageSize - 1))
	d := d3dOf(t, sys)
	data := count(1, size)
	source := d.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer, data)
	to := d.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer, make([]byte, size))
	d.ctx.CopyResource(to, source)
	same(t, data, d.contents(to), "HighestAcceptableAddress: the GPU copies data from and to memory at %#x and above", from)
}

// A contextHook keeps the private data of the last context.
type contextHook struct {
	mu   sync.Mutex
	data []byte
}

func (c *contextHook) Enter(_ *ddi.Thread, f *verifier.Func, args ...any) {
	if f.Name == "pfnCreateContextCb" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.data = slices.Clone(args[1].(*umddi.CreateContext).PrivateDriverData)
	}
}

func (c *contextHook) Leave(*ddi.Thread, *verifier.Func, ...any) {}

// claimedNodes creates a context on each node that the miniport claims.
func claimedNodes(t *T) {
	seen := new(contextHook)
	sys := t.Open(testbench.Options{Hook: seen})
	d3dOf(t, sys)
	th := &ddi.Thread{Process: 9, ID: 1}
	k := sys.Thunks()
	dev, st := k.CreateDevice(th)
	t.succeeds(st, "D3DKMTCreateDevice")
	for n := range uint32(sys.Nodes()) {
		ctx := &umddi.CreateContext{NodeOrdinal: n, PrivateDriverData: seen.data}
		t.succeeds(k.CreateContext(th, dev, ctx), "NumberOfNodes is %d: D3DKMTCreateContext on node %d, with the private data of the user-mode driver,", sys.Nodes(), n)
		t.succeeds(k.DestroyContext(th, ctx.Context), "D3DKMTDestroyContext of a context on node %d", n)
	}
	t.succeeds(k.DestroyDevice(th, dev), "D3DKMTDestroyDevice")
}

// A queueHook counts the submissions that a miniport has.
type queueHook struct {
	mu      sync.Mutex
	claimed uint32              // HwQueuePacketCap
	pending map[uint32][]uint32 // fences, by node
	most    int                 // largest number at a time
	want    int                 // number after which release is called
	release func()              // nil: after the call
	early   bool                // a submission completed before the call
	resets  int                 // of a node
}

func (q *queueHook) Enter(_ *ddi.Thread, _ *verifier.Func, args ...any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, a := range args {
		switch a := a.(type) {
		case kmddi.SubmitCommand:
			q.pending[a.NodeOrdinal] = append(q.pending[a.NodeOrdinal], a.SubmissionFenceID)
			q.most = max(q.most, len(q.pending[a.NodeOrdinal]))
		case kmddi.ResetEngine:
			q.resets++
			delete(q.pending, a.NodeOrdinal) // what was not aborted is submitted again
		case kmddi.NotifyInterrupt:
			if a.InterruptType == kmddi.InterruptDMAPreempted {
				delete(q.pending, a.NodeOrdinal) // they are submitted again
				continue
			}
			q.early = q.early || q.release != nil
			if i := slices.Index(q.pending[a.NodeOrdinal], a.FenceID); i >= 0 {
				q.pending[a.NodeOrdinal] = q.pending[a.NodeOrdinal][i+1:]
			}
		}
	}
}

func (q *queueHook) Leave(_ *ddi.Thread, f *verifier.Func, results ...any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if f.Name == "DxgkDdiSubmitCommand" && q.release != nil && q.most >= q.want {
		q.release()
		q.release = nil
	}
	for _, r := range results {
		if out, ok := r.(kmddi.QueryAdapterInfoOut); ok && out.DriverCaps.HwQueuePacketCap != 0 {
			q.claimed = out.DriverCaps.HwQueuePacketCap
		}
	}
}

// claimedQueue gives a node as many submissions at a time as the miniport claims, up
// to maxQueue. The interrupts of the GPU are held meanwhile, so that none completes.
func claimedQueue(t *T) {
	const maxQueue, perContext, size = 64, 4, 4 << 10
	q := &queueHook{pending: map[uint32][]uint32{}}
	sys := t.Open(testbench.Options{Hook: q})
	want := int(min(q.claimed, maxQueue))
	var targets []*d3d11.Buffer
	var devices []*d3d
	for range (want + perContext - 1) / perContext { // a context has 4 DMA buffers
		d := d3dOf(t, sys)
		// Each device has a lower priority than the one before it, so that no preemption takes work back.
		require.NoError(t, d.dev.SetGPUThreadPriority(max(7-len(devices), -7)), "SetGPUThreadPriority")
		devices = append(devices, d)
		targets = append(targets, d.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer, make([]byte, size)))
	}
	sources := make([][]*d3d11.Buffer, len(devices))
	for i, d := range devices {
		for n := range perContext {
			sources[i] = append(sources[i], d.buffer(d3d11.UsageDefault, d3d11.BindVertexBuffer, count(i+n, size)))
			d.ctx.CopyResource(targets[i], sources[i][n]) // makes it resident
		}
		d.ctx.Flush()
	}
	require.NoError(t, sys.WaitForIdle(), "the GPU completes the work")
	q.hold(sys, want)
	for n := range perContext {
		for i, d := range devices {
			d.ctx.CopyResource(targets[i], sources[i][n])
			d.ctx.Flush()
		}
	}
	sys.HoldInterrupts(false)
	for i, d := range devices {
		same(t, count(i+perContext-1, size), d.contents(targets[i]), "the last of %d submissions of device %d decides", perContext, i)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	assert.Zero(t, q.resets, "resets of a node that hung with at most %d submissions: HwQueuePacketCap is %d", q.most, q.claimed)
	assert.LessOrEqual(t, q.most, int(q.claimed), "the kernel respects HwQueuePacketCap")
	if q.early {
		t.Skipf("the miniport completes submissions without an interrupt: a node had at most %d of %d at a time", q.most, want)
	}
	assert.Equal(t, want, q.most, "HwQueuePacketCap: a node has as many submissions at a time as the miniport claims")
}

// hold holds the interrupts of the GPU until a node has as many submissions as want.
func (q *queueHook) hold(sys *testbench.System, want int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.pending)
	q.most, q.want, q.release = 0, want, func() { sys.HoldInterrupts(false) }
	sys.HoldInterrupts(true)
}
