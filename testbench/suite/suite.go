// Package suite is the whole-system test suite that every board must pass, with the
// drivers of this GPU or with others. Each case opens the board, uses it through
// the entire stack, and compares the results with the specification or a reference
// model.
//
// The same cases run under go test (./testbench, TestSuite) and from a command
// ([Run]), on every selector. [Cases] lists them, and a [Case] works on the
// [testbench.System] that [T.Open] opens.
package suite

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/wave"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
)

// TB is the part of testing.TB that a case needs. *testing.T implements it.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Skipf(format string, args ...any)
	FailNow()
	Cleanup(f func())
}

// T is a running case.
type T struct {
	TB
	Selector string
	Board    boards.Options // options of the connection
	Drivers  testbench.Drivers
	Seed     uint64

	violation *verifier.Violation      // the first broken rule, or nil
	undone    []*verifier.Violation    // warnings that name work that the GPU did not do
	findings  []verifier.Finding       // of all systems, one for each rule
	hung      chan *verifier.Violation // gets the violation of a call that does not return; nil: nobody waits
	ended     chan struct{}            // closed when the case has ended
	watchers  sync.WaitGroup           // of the systems of the case

	dump  string // the kernel's dump
	err   error  // why opening the board failed or the GPU stopped
	tdr   time.Duration
	limit time.Duration // of a driver's call

	queues   testbench.Queues
	noVerify bool
	sanitize bool
	begin    func(h eventlog.Header) (events.Sink, error) // begins the log of every system, or nil
	waive    []string
	collect  bool

	cover  *counter       // counts calls and packets, or nil
	ddi    io.Writer      // gets the DDI calls of every system at once, or nil
	keep   bool           // keep the DDI calls and the last clocks of an emulated GPU
	traces []*tail        // traces of the systems, in order of opening
	flight *wave.Recorder // recorder of the last opened board, or nil

	ring          atomic.Pointer[eventlog.Ring] // the last events of the last opened board, or nil
	got, expected []byte                        // frames that differ, as PNG, or nil
	registers     []byte                        // a snapshot of the registers after a failure, or nil
	unread        error                         // why there is none
}

// Open opens the board and closes it when the case ends; an error of Close, or a
// rule that a driver broke, fails the case. If artifacts are kept, it records the DDI calls, the packets of the
// link and the last clocks of an emulated GPU.
func (t *T) Open(o testbench.Options) *testbench.System {
	t.Helper()
	o.Board, o.Tdr, o.CallLimit, o.Seed, o.NoVerify = t.Board, t.tdr, t.limit, t.Seed+1, t.noVerify
	o.Sanitize, o.Waive, o.Collect, o.Queues = t.sanitize, t.waive, t.collect, t.queues
	if t.keep && boards.Emulated(t.Selector) {
		var err error
		t.flight, err = wave.New(nil, wave.Options{})
		require.NoError(t, err, "the recorder of the clocks starts")
		o.Board.Wave = t.flight
	}
	if t.keep {
		trace := new(tail)
		t.traces = append(t.traces, trace)
		o.DDI, o.Record = trace, t.record
	}
	if o.Record == nil {
		o.Record = t.begin
	}
	switch {
	case t.cover != nil && o.Hook != nil:
		o.Hook = verifier.Hooks(t.cover, o.Hook)
	case t.cover != nil:
		o.Hook = t.cover
	}
	if t.ddi != nil && o.DDI != nil {
		o.DDI = io.MultiWriter(t.ddi, o.DDI)
	} else if t.ddi != nil {
		o.DDI = t.ddi
	}
	sys, err := testbench.Open(t.Selector, t.Drivers, o)
	t.err = first(t.err, err)
	if t.breaks(err) {
		t.FailNow()
	}
	require.NoError(t, err, "the board opens, and the drivers start")
	t.Cleanup(func() {
		if err := sys.Err(); err != nil {
			t.dump = dumpOf(err)
			t.err = first(t.err, err)
		}
		t.keepRegisters(sys)
		t.close(sys)
	})
	if t.hung != nil {
		t.watchers.Go(func() { t.watch(sys) })
	}
	return sys
}

// close closes a system. A broken rule fails the case with its report.
func (t *T) close(sys *testbench.System) {
	t.Helper()
	err := sys.Close()
	t.undone = append(t.undone, undoneOf(sys.Findings())...)
	t.findings = addFindings(t.findings, sys.Findings())
	if !t.breaks(err) {
		assert.NoError(t, err, "the system stops without an error")
	}
	if t.collect {
		for _, v := range sys.Violations() {
			if !errors.Is(err, v) {
				t.breaks(v)
			}
		}
	}
}

// breaks reports whether an error has a broken rule, which fails the case with its
// report.
func (t *T) breaks(err error) bool {
	t.Helper()
	var v *verifier.Violation
	if !errors.As(err, &v) {
		return false
	}
	if t.violation == nil {
		t.violation = v
	}
	t.Errorf("%s", reportOf(v))
	return true
}

// reportOf returns the report of a violation without its last newline.
func reportOf(v *verifier.Violation) string { return strings.TrimSuffix(v.Report(), "\n") }

// watch tells the runner of the case that a call of a driver does not return.
func (t *T) watch(sys *testbench.System) {
	select {
	case <-sys.Hung():
	case <-t.ended:
		select {
		case <-sys.Hung(): // the call ended the goroutine of the case
		default:
			return
		}
	}
	select {
	case t.hung <- sys.Violations()[0]:
	default: // another system of the case hangs
	}
}

// first returns a, or b if a is nil.
func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// A Case is one test of the suite.
type Case struct {
	Name   string
	Tier   Tier
	Doc    string // the requirement, in one line
	Source string // document and section with the requirement

	options []string // configurations to add to the selector, a run each; "" adds none
	needs   bool     // the case is only for these configurations
	seeds   uint64   // number of runs, with successive seeds; 0 means 1
	threads bool     // goroutines of the case work on the device at once, so runs differ
	run     func(t *T)
}

// different are options of GPUs that the kernel must treat differently.
var different = []string{"", "nodes=1", "vram=8KiB", "aperture=0"}

// Cases returns the cases, in the order in which they run.
func Cases() []Case {
	return []Case{
		{Name: "compose", Tier: API, Doc: "images are composed, presented and read back",
			Source: "D3D11 functional specification; docs/design.md, A copy, down and up", options: different, seeds: 2, run: composeSamples},
		{Name: "copy-boxes", Tier: API, Doc: "boxes of a texture are copied; invalid ones are ignored",
			Source: "ID3D11DeviceContext::CopySubresourceRegion", options: different, run: copyBoxes},
		{Name: "copy-formats", Tier: API, Doc: "copies within a typeless family keep the bits; others are ignored",
			Source: "ID3D11DeviceContext::CopyResource; Format Conversion using Direct3D 10.1 and later", run: copyBetweenFormats},
		{Name: "clears", Tier: API, Doc: "clears convert to the format and clear exactly the view",
			Source: "ID3D11DeviceContext::ClearRenderTargetView; Data Conversion Rules", options: different, run: clears},
		{Name: "lists", Tier: API, Doc: "lists read contents when they execute, any number of times, nested or not",
			Source: "ID3D11DeviceContext::ExecuteCommandList; Immediate and Deferred Rendering", options: different, run: listsOnTheGPU},
		{Name: "restore-flags", Tier: API, Doc: "the restore flags of Finish and Execute",
			Source: "ID3D11DeviceContext::FinishCommandList; ID3D11DeviceContext::ExecuteCommandList", run: restoreFlags},
		{Name: "discard-in-list", Tier: API, Doc: "memory mapped on a deferred context belongs to the list",
			Source: "ID3D11DeviceContext::Map; Immediate and Deferred Rendering", options: different, run: discardInAList},
		{Name: "execute-while-mapped", Tier: API, Doc: "a list is refused only for what the API forbids",
			Source: "ID3D11DeviceContext::ExecuteCommandList; Supporting Command Lists", options: different, run: executeWhileMapped},
		{Name: "no-overwrite-in-list", Tier: API, Doc: "a list continues to fill a buffer that it has discarded",
			Source: "ID3D11DeviceContext::Map; D3D11_MAP", options: different, run: noOverwriteInAList},
		{Name: "renaming", Tier: API, Doc: "a discard neither waits for nor changes data that the GPU has yet to read",
			Source: "D3D11_MAP: WRITE_DISCARD and WRITE_NO_OVERWRITE", options: different, run: renaming},
		{Name: "staging-maps", Tier: API, Doc: "pitches, errors and contents of staging maps",
			Source: "ID3D11DeviceContext::Map; D3D11_MAPPED_SUBRESOURCE", run: stagingMaps},
		{Name: "map-alignment", Tier: API, Doc: "each map of a subresource begins at a multiple of 16 bytes",
			Source: "D3D11_MAPPED_SUBRESOURCE, pData", options: []string{"", "vram=8KiB"}, run: mapAlignment},
		{Name: "asking", Tier: API, Doc: "calls return busy until the GPU is done, and polling is enough to complete the work",
			Source: "D3D11_MAP_FLAG; ID3D11DeviceContext::GetData", options: different, run: pollingInsteadOfWaiting},
		{Name: "present", Tier: API, Doc: "Present copies the back buffer as it is at the call",
			Source: "IDXGISwapChain::Present; PFND3DDDI_PRESENTCB", options: different, run: present},
		{Name: "textures-too-large-together", Tier: API, Doc: "textures that fit in VRAM only one at a time are copied to each other",
			Source: "Submitting a Command Buffer, steps 4 to 6; docs/drivers.md, What the kernel promises", options: []string{"vram=64KiB", "vram=64KiB&nodes=1"}, needs: true, run: copyOfTexturesThatDoNotFitTogether},
		{Name: "texture-too-large", Tier: Own, Doc: "a texture larger than VRAM is in host memory; one larger than that is refused",
			Source: "docs/design.md, Decisions", options: []string{"vram=64KiB"}, needs: true, run: textureLargerThanVRAM},
		{Name: "objects-left", Tier: DDI, Doc: "a driver keeps nothing of the kernel when a device with objects is closed",
			Source: "PFND3D10DDI_DESTROYDEVICE; PFND3DDDI_DEALLOCATECB; PFND3DDDI_DESTROYCONTEXTCB", run: objectsLeft},
		{Name: "order-flush", Tier: DDI, Doc: "Flush submits in the documented steps",
			Source: "Submitting a Command Buffer (WDK)", run: orderOfFlush},
		{Name: "order-present", Tier: DDI, Doc: "Present submits in the documented steps",
			Source: "Submitting a Command Buffer (WDK)", run: orderOfPresent},
		{Name: "order-lock", Tier: DDI, Doc: "Lock submits in the documented steps",
			Source: "Submitting a Command Buffer (WDK)", run: orderOfLock},
		{Name: "order-full", Tier: DDI, Doc: "a full command buffer is submitted in the documented steps",
			Source: "Submitting a Command Buffer (WDK)", run: orderOfFullBuffer},
		{Name: "order-pending", Tier: DDI, Doc: "Present submits pending work first",
			Source: "PFND3DDDI_PRESENTCB; Submitting a Command Buffer (WDK)", run: presentSubmitsPendingWorkFirst},
		{Name: "order-one-node", Tier: DDI, Doc: "paging buffers on a GPU with one node",
			Source: "Submitting a Command Buffer (WDK); DXGK_DRIVERCAPS: PagingNode", options: []string{"nodes=1"}, run: orderOnOneNode},
		{Name: "order-count", Tier: Own, Doc: "one paging buffer moves what one command needs",
			Source: "docs/design.md, Decisions", run: orderOfOnePagingBuffer},
		{Name: "concurrent-creates", Tier: Caps, Doc: "CapsFreeThreaded: threads create and destroy while the immediate context works",
			Source: "Supporting Threading, Command Lists, and 3D Pipeline; D3D11_FEATURE_DATA_THREADING", threads: true, run: concurrentCreates},
		{Name: "driver-lists", Tier: Caps, Doc: "CapsCommandListsBuild2: the driver executes each list itself",
			Source: "Supporting Command Lists; D3D11_FEATURE_DATA_THREADING", run: driverCommandLists},
		{Name: "claimed-address", Tier: Caps, Doc: "HighestAcceptableAddress: the GPU uses memory at the highest address claimed, up to 52 bits",
			Source: "DXGK_DRIVERCAPS: HighestAcceptableAddress", run: claimedAddress},
		{Name: "claimed-formats", Tier: Caps, Doc: "pfnCheckFormatSupport: each claimed format makes textures and render targets",
			Source: "PFND3D10DDI_CHECKFORMATSUPPORT; D3D10_DDI_FORMAT_SUPPORT", run: claimedFormats},
		{Name: "claimed-nodes", Tier: Caps, Doc: "NumberOfNodes: each claimed node takes contexts",
			Source: "DXGK_DRIVERCAPS: GpuEngineTopology; DXGKARG_CREATECONTEXT", options: []string{"", "nodes=1"}, run: claimedNodes},
		{Name: "claimed-queue", Tier: Caps, Doc: "HwQueuePacketCap: a node takes as many submissions at a time as claimed, up to 64",
			Source: "DXGK_DRIVERCAPS: SchedulingCaps; DXGK_VIDSCHCAPS", options: []string{"", "nodes=1"}, run: claimedQueue},
		{Name: "escape", Tier: Own, Doc: "a tool reads registers and the state of nodes through the miniport",
			Source: "DXGKDDI_ESCAPE; hostdriver/privdata", options: []string{"", "nodes=1"}, run: escapes},
		{Name: "kernel-draws", Tier: Own, Doc: "the kernel draws to surfaces of an application, in the order of the calls",
			Source: "DXGKDDI_RENDERKM; hostdriver/privdata", options: []string{"", "nodes=1", "vram=8KiB"}, run: kernelDraws},
		{Name: "malformed-buffers", Tier: Own, Doc: "bad command buffers are refused, and the next good one works",
			Source: "DXGKDDI_RENDER, Return value; hostdriver/privdata", run: malformedCommandBuffers},
		{Name: "random", Tier: API, Doc: "random API calls have the effect of a reference model",
			Source: "D3D11 functional specification; the reference model in testbench/suite/random.go", seeds: 2,
			options: []string{"", "nodes=1", "vram=64KiB", "vram=64KiB&nodes=1", "config=small&vram=32KiB"}, run: randomOperations},
	}
}

// An Instance is a case on a board.
type Instance struct {
	Case     Case
	Name     string // name of the case, its options, and the seed if there are several
	Selector string
	Seed     uint64
	Skip     string // reason why it cannot run, or ""
}

// Expand returns the instances of the cases on a board, with seeds from seed on. If
// runs is not 0, it replaces the number of seeds of cases with several.
func Expand(selector string, seed, runs uint64) []Instance {
	var out []Instance
	for _, c := range Cases() {
		options, skip := c.options, ""
		if !configurable(selector) && len(options) > 0 {
			options = []string{""}
			if c.needs {
				skip = "needs a GPU with " + c.options[0]
			}
		}
		if len(options) == 0 {
			options = []string{""}
		}
		for _, o := range options {
			out = c.instances(out, selector, o, seed, runs, skip)
		}
	}
	return out
}

func (c Case) instances(out []Instance, selector, options string, seed, runs uint64, skip string) []Instance {
	n := max(c.seeds, 1)
	if n > 1 && runs != 0 {
		n = runs
	}
	name := c.Name
	if options != "" {
		selector, name = with(selector, options), name+"["+options+"]"
	}
	for s := range n {
		i := Instance{Case: c, Name: name, Selector: selector, Seed: seed + s, Skip: skip}
		if n > 1 {
			i.Name = fmt.Sprintf("%s/%d", name, i.Seed)
		}
		out = append(out, i)
	}
	return out
}

// configurable reports whether the suite may add configuration options to the
// selector.
func configurable(selector string) bool { return selector == "emu" }

func with(selector, options string) string {
	if strings.Contains(selector, "?") {
		return selector + "&" + options
	}
	return selector + "?" + options
}

// artifactTB is a TB with a folder for artifacts, such as *testing.T.
type artifactTB interface {
	ArtifactDir() string
}

// Run runs the instance as the test tb, with the sanitizer. A failure leaves the last events as
// events.log, and the last clocks of an emulated GPU as wave.vcd, in the artifact folder of the
// test. A case that hangs leaves the events alone.
func (i Instance) Run(tb TB, drivers testbench.Drivers) {
	if i.Skip != "" {
		tb.Skipf("%s", i.Skip)
		return
	}
	r := &recording{traced: true}
	t := &T{TB: r, Selector: i.Selector, Drivers: drivers, Seed: i.Seed, sanitize: true}
	k, ok := tb.(artifactTB)
	t.keep = ok
	hung := runCase(i.Case, t, r)
	if hung != nil {
		r.Errorf("%s", reportOf(hung))
	}
	if ok && len(r.messages) > 0 {
		failure := Result{Messages: r.messages}
		if err := t.saveAll(k.ArtifactDir(), failure.head(), hung == nil); err != nil {
			r.Errorf("%v", err)
		}
	}
	for _, m := range r.messages {
		tb.Errorf("%s", m)
	}
	if r.skipped != "" {
		tb.Skipf("%s", r.skipped)
	}
}
