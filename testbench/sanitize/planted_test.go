package sanitize_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

// plants is the number of planted mistakes.
const plants = 352

// A mistake changes a miniport. It is made at a call of a function that r chooses. rule is the one that it breaks.
type mistake struct {
	name string
	rule string
	make func(d *kmddi.DriverInitializationData, r *rand.Rand)
}

// often calls a mistake at calls that r chooses, until it was made once.
func often(r *rand.Rand, do func() bool) func() {
	skip, done := r.IntN(3), false
	return func() {
		if done {
			return
		}
		if skip > 0 {
			skip--
			return
		}
		done = do()
	}
}

// dwordOf returns the dwords of a packet that have an address, and that of its length or size.
var dwordOf = map[uint8]struct {
	addresses []int
	length    int
}{
	pkt.OpCopy: {[]int{1, 3}, 5}, pkt.OpFill: {[]int{1}, 3}, pkt.OpSetState: {[]int{2}, 4},
}

// anyPacket calls edit with a random packet of a buffer that dwordOf has.
func anyPacket(b []byte, r *rand.Rand, edit func(op uint8, p []byte)) bool {
	var all [][]byte
	for len(b) > 0 {
		l, p, rest, err := pkt.Next(b)
		if err != nil {
			break
		}
		if _, ok := dwordOf[l.Op]; ok {
			all = append(all, p)
		}
		b = rest
	}
	if len(all) == 0 {
		return false
	}
	p := all[r.IntN(len(all))]
	edit(p[3], p)
	return true
}

func add32(p []byte, i int, by uint32) {
	binary.LittleEndian.PutUint32(p[4*i:], binary.LittleEndian.Uint32(p[4*i:])+by)
}

// moved adds to a random address of a packet.
func moved(b []byte, r *rand.Rand) bool {
	return anyPacket(b, r, func(op uint8, p []byte) {
		at := dwordOf[op].addresses
		add32(p, at[r.IntN(len(at))], 4*(1+r.Uint32N(1<<16)))
	})
}

// longer makes a packet longer than every allocation, or the pitch of a surface larger.
func longer(b []byte, r *rand.Rand) bool {
	return anyPacket(b, r, func(op uint8, p []byte) { add32(p, dwordOf[op].length, 1<<16) })
}

// longerLinear makes a COPY or a FILL longer than every allocation, or reports that there is none.
func longerLinear(b []byte, r *rand.Rand) (made bool) {
	for n := 0; n < 20 && !made; n++ {
		anyPacket(b, r, func(op uint8, p []byte) {
			if made = op != pkt.OpSetState; made {
				add32(p, dwordOf[op].length, 1<<16)
			}
		})
	}
	return made
}

func onRender(edit func(arg kmddi.Render, out *kmddi.RenderOut)) func(d *kmddi.DriverInitializationData, r *rand.Rand) {
	return func(d *kmddi.DriverInitializationData, _ *rand.Rand) {
		f := d.Render
		d.Render = func(t *ddi.Thread, h kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
			out, s := f(t, h, arg)
			if s == ddi.StatusSuccess {
				edit(arg, &out)
			}
			return out, s
		}
	}
}

func onPatch(edit func(arg kmddi.Patch, r *rand.Rand)) func(d *kmddi.DriverInitializationData, r *rand.Rand) {
	return func(d *kmddi.DriverInitializationData, r *rand.Rand) {
		f, seed := d.Patch, r.Uint64()
		d.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
			s := f(t, h, arg)
			// The same choice in both calls that the checker makes.
			edit(arg, rand.New(rand.NewPCG(seed, uint64(arg.SubmissionFenceID))))
			return s
		}
	}
}

func onPaging(edit func(b []byte, r *rand.Rand) bool) func(d *kmddi.DriverInitializationData, r *rand.Rand) {
	return func(d *kmddi.DriverInitializationData, r *rand.Rand) {
		f := d.BuildPagingBuffer
		var out kmddi.BuildPagingBufferOut
		var s ddi.Status
		var arg kmddi.BuildPagingBuffer
		once := often(r, func() bool { return edit(arg.DmaBuffer[:out.DmaBufferUsed], r) })
		d.BuildPagingBuffer = func(t *ddi.Thread, h kmddi.HAdapter, a kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status) {
			arg = a
			if out, s = f(t, h, a); s == ddi.StatusSuccess && out.DmaBufferUsed > 0 {
				once()
			}
			return out, s
		}
	}
}

func partOf(arg kmddi.Patch) []byte {
	return arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset:arg.DmaBufferSubmissionEndOffset]
}

func mistakes() []mistake {
	return []mistake{
		{"an address is moved after the patch", "access-address", onPatch(func(arg kmddi.Patch, r *rand.Rand) { moved(partOf(arg), r) })},
		{"a packet is longer than its allocation", "access-bounds", func(d *kmddi.DriverInitializationData, r *rand.Rand) {
			onRender(func(arg kmddi.Render, out *kmddi.RenderOut) { longerLinear(arg.DmaBuffer[:out.DmaBufferUsed], r) })(d, r)
		}},
		{"a patch location is missing", "access-unpatched", func(d *kmddi.DriverInitializationData, r *rand.Rand) {
			n := r.Uint32()
			onRender(func(arg kmddi.Render, out *kmddi.RenderOut) {
				if out.PatchesUsed == 0 {
					return
				}
				i := n % out.PatchesUsed
				list := arg.PatchLocationListOut[:out.PatchesUsed]
				copy(list[i:], list[i+1:])
				out.PatchesUsed--
			})(d, r)
		}},
		{"AllocationOffset is changed", "access-address", func(d *kmddi.DriverInitializationData, r *rand.Rand) {
			n, by := r.Uint32(), 4*(1+r.Uint32N(64))
			f := d.Patch
			d.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
				list := append([]kmddi.PatchLocation(nil), arg.PatchLocationList...)
				if arg.PatchLocationListSubmissionLength > 0 {
					list[arg.PatchLocationListSubmissionStart+n%arg.PatchLocationListSubmissionLength].AllocationOffset += by
				}
				arg.PatchLocationList = list
				return f(t, h, arg)
			}
		}},
		{"an address of a paging buffer is moved", "access-paging", onPaging(moved)},
		{"a paging buffer goes past its allocation", "access-paging", onPaging(longer)},
		{"a command is dropped", "access-dropped", onRender(func(_ kmddi.Render, out *kmddi.RenderOut) { *out = kmddi.RenderOut{} })},
		{"an address of another allocation", "access-address", onPatch(func(arg kmddi.Patch, r *rand.Rand) {
			if len(arg.AllocationList) == 0 {
				return
			}
			other := arg.AllocationList[0].PhysicalAddress
			anyPacket(partOf(arg), r, func(op uint8, p []byte) {
				i := dwordOf[op].addresses[0]
				if binary.LittleEndian.Uint64(p[4*i:]) == other {
					other += 64
				}
				binary.LittleEndian.PutUint64(p[4*i:], other)
			})
		})},
		{"WriteOperation is missing", "access-write", nil}, // unmarked makes it
		{"a buffer is submitted from an earlier byte", "access-outside", func(d *kmddi.DriverInitializationData, r *rand.Rand) {
			f, by := d.SubmitCommand, 64*(1+r.Uint64N(8))
			d.SubmitCommand = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.SubmitCommand) ddi.Status {
				arg.DmaBufferPhysicalAddress -= by
				return f(t, h, arg)
			}
		}},
	}
}

// unmarked are drivers of which neither marks or checks what the GPU writes.
func unmarked(d *testbench.Drivers) {
	open := d.UserMode
	d.UserMode = func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		hr := open(t, arg)
		create := arg.Funcs.CreateDevice
		arg.Funcs.CreateDevice = func(t *ddi.Thread, a umddi.HAdapter, dev *umddi.CreateDevice) ddi.HRESULT {
			kt := *dev.KTCallbacks
			var list []umddi.AllocationList
			make, render := kt.CreateContextCb, kt.RenderCb
			kt.CreateContextCb = func(t *ddi.Thread, h umddi.HRTDevice, c *umddi.CreateContext) ddi.HRESULT {
				hr := make(t, h, c)
				list = c.AllocationList
				return hr
			}
			kt.RenderCb = func(t *ddi.Thread, h umddi.HRTDevice, r *umddi.Render) ddi.HRESULT {
				for i := range list[:r.NumAllocations] {
					list[i].WriteOperation = false
				}
				hr := render(t, h, r)
				list = r.NewAllocationList
				return hr
			}
			dev.KTCallbacks = &kt
			return create(t, a, dev)
		}
		return hr
	}
	entry := d.KernelMode
	d.KernelMode = func() kmddi.DriverInitializationData {
		table := entry()
		f := table.Render
		table.Render = func(t *ddi.Thread, h kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
			list := append([]kmddi.AllocationList(nil), arg.AllocationList...)
			for i := range list {
				list[i].WriteOperation = true
			}
			arg.AllocationList = list
			return f(t, h, arg)
		}
		return table
	}
}

// sources are small images.
func sources() []compose.Source {
	img := image.NewNRGBA(image.Rect(0, 0, 5, 4))
	for i := range img.Pix {
		img.Pix[i] = byte(37 * i)
	}
	img.Set(0, 0, color.NRGBA{1, 2, 3, 255})
	return []compose.Source{{Name: "a", Image: img}}
}

// driversWith returns the drivers of this GPU with a change of the miniport, or without one.
func driversWith(edit func(table *kmddi.DriverInitializationData)) testbench.Drivers {
	d := testbench.HostDrivers()
	entry := d.KernelMode
	d.KernelMode = func() kmddi.DriverInitializationData {
		table := entry()
		if edit != nil {
			edit(&table)
		}
		return table
	}
	return d
}

// outcome composes a frame with drivers and returns the rule that was broken, or "".
func outcome(t *testing.T, d testbench.Drivers, seed uint64) string {
	t.Helper()
	return outcomeOn(t, [...]string{"emu?vram=64KiB", "emu?config=small&vram=16KiB", "emu?nodes=1&vram=64KiB", "emu?vram=8KiB&nodes=1"}[seed%4], d, seed)
}

// outcomeOn is outcome on a board.
func outcomeOn(t *testing.T, board string, d testbench.Drivers, seed uint64) string {
	t.Helper()
	plan, err := compose.NewPlan(compose.Options{Width: 16, Height: 12, Contexts: 1, Seed: seed, Sources: sources()})
	require.NoError(t, err)
	s, err := testbench.Open(board, d, testbench.Options{Sanitize: true, Seed: seed})
	if err == nil {
		_, err = compose.Run(s, plan)
		err = errors.Join(err, s.Close())
		for _, f := range s.Findings() {
			if f.Rule != "gpu-fault" && f.Rule != "gpu-time-out" {
				err = errors.Join(err, f.Violation)
			}
		}
	}
	var broken *verifier.Violation
	if errors.As(err, &broken) {
		if strings.HasPrefix(broken.Rule.Name, "access-") {
			assert.Regexp(t, `(submission|DMA buffer) \d|no submission|in the ring of node \d`, broken.Text)
		}
		return broken.Rule.Name
	}
	if err != nil {
		return "error: " + err.Error()
	}
	return ""
}

// planted makes the mistake of a seed and returns it, and the rule that was broken on a board; "": on that of the seed.
func planted(t *testing.T, board string, seed uint64) (m mistake, rule string) {
	t.Helper()
	all := append(mistakes(), driverMistakes()...)
	m = all[seed%uint64(len(all))]
	r := rand.New(rand.NewPCG(seed, 22))
	d := testbench.HostDrivers()
	if m.make == nil {
		unmarked(&d)
	} else {
		d = driversWith(func(table *kmddi.DriverInitializationData) { m.make(table, r) })
	}
	if board != "" {
		return m, outcomeOn(t, board, d, seed/uint64(len(all)))
	}
	return m, outcome(t, d, seed/uint64(len(all)))
}

// At least 99 of 100 planted mistakes are named by their rule.
func TestPlantedMistakesAreNamed(t *testing.T) {
	named, rules := 0, map[string]int{}
	for seed := range uint64(plants) {
		m, rule := planted(t, "", seed)
		if rule != m.rule {
			t.Logf("seed %d, %s: %q, want %q", seed, m.name, rule, m.rule)
			continue
		}
		named++
		rules[rule]++
	}
	t.Log(named, rules)
	assert.GreaterOrEqual(t, 100*named, 99*plants, fmt.Sprint(rules))
}

// Good drivers break no rule on the same boards.
func TestGoodDrivers(t *testing.T) {
	for seed := range uint64(plants / 16) {
		assert.Empty(t, outcome(t, testbench.HostDrivers(), seed), seed)
	}
}
