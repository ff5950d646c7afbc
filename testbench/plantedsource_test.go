package testbench

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/overlay"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// A mutated is a fault in the source of the RTL or of the kernel: old is replaced by new in a
// file, and new asks package plant whether the fault is chosen. The answer to the question must have the
// missing link and a word of the cause or of the verdict, which both follow from the fault.
type mutated struct {
	name     string
	file     string
	old, new string
	board    string // "": emu
	checks   string // none, rules or access; "": none
	tdr      string // clocks; "": the usual ones
	ask      func(r *why.Run) (*why.Answer, error)
	missing  string
	word     string
	dump     string // a regular expression for the dump of the GPU that stopped; "": none
}

// options returns the checks, the time-out and the board of a run, as the command planted takes them.
func (m mutated) options() string {
	return strings.Join([]string{cmp.Or(m.checks, "none"), cmp.Or(m.tdr, "0"), cmp.Or(m.board, "emu")}, ",")
}

const plantPackage = "github.com/hilgpu/hilgpu/testbench/testdata/planted/plant"

// rtlFaults are faults of the hardware.
func rtlFaults() []mutated {
	return []mutated{
		{
			name: "fence-write-dropped", file: "rtl/fence/module.go",
			old: "m.headerUp, m.beatUp, m.refused = true, true, false",
			new: `m.headerUp, m.beatUp, m.refused = !plant.Is(NAME), !plant.Is(NAME), false`,
			ask: fence(1, 1), missing: why.MissingFence, word: "no write of 0x1 to its memory",
		},
		{
			name: "fence-skipped", file: "rtl/cp/step.go",
			old: "m.sync.offer(fence.Fence)",
			new: "if plant.Is(NAME) {\nm.decode.state = decodeRetire\n} else {\nm.sync.offer(fence.Fence)\n}",
			ask: fence(1, 1), missing: why.MissingFence, word: "no write of 0x1 to its memory",
		},
		{
			name: "fence-of-another-value", file: "rtl/fence/module.go",
			old: "m.value = value\n", new: "m.value = value\nif plant.Is(NAME) {\nm.value += 5\n}\n",
			ask: fence(1, 1), missing: why.MissingFence, word: "0x6",
		},
		{
			name: "event-not-raised", file: "rtl/intc/intc.go",
			old: "if ev.Done1 {", new: "if ev.Done1 && !plant.Is(NAME) {",
			ask: fence(1, 1), missing: why.MissingMessage, word: "did not arrive",
		},
		{
			name: "vector-stays-masked", file: "rtl/intc/intc.go",
			old: "if !enabled || m.masked[intcreg.VectorDone] {", new: "if !enabled || m.masked[intcreg.VectorDone] || plant.Is(NAME) && m.status&intcreg.Done1 != 0 {",
			ask: fence(1, 1), missing: why.MissingMessage, word: "did not arrive",
		},
		{
			name: "status-bit-lost", file: "rtl/intc/intc.go",
			old: "m.rsp.Data = uint32(m.status)", new: "m.rsp.Data = uint32(m.status)\nif plant.Is(NAME) {\nm.rsp.Data = 0\n}",
			ask: fence(1, 1), missing: why.MissingReport, word: "no DxgkCbNotifyInterrupt",
		},
		{
			name: "engine-stops-in-a-copy", file: "rtl/dma/dma.go", tdr: "100000",
			old:     "reading, writing, stop := m.reading() && in.ReadReady, m.writing(), m.stopping()",
			new:     "reading, writing, stop := m.reading() && in.ReadReady, m.writing() && !plant.From(NAME, 3000), m.stopping()",
			missing: why.MissingPacket, word: "2 of its descriptors, the last at clock 5347: 3648 bytes to VRAM+0x6d00",
		},
		{
			name: "buffer-is-not-read", file: "rtl/cp/fetch.go",
			old:     "return (m.regs.run || inside) && checked",
			new:     "return !(plant.Is(NAME) && m.ring.inIB) && (m.regs.run || inside) && checked",
			missing: why.MissingPacket, word: "IB+0x0 of submission 1 has not ended",
		},
		{
			name: "doorbell-does-not-wake", file: "rtl/cp/ring.go",
			old:     "r.wptr = v & 0x3ffff\n",
			new:     "if !plant.Is(NAME) {\nr.wptr = v & 0x3ffff\n}\n",
			missing: why.MissingFetch, word: "has not begun",
		},
		{
			name: "ring-head-after-indirect", file: "rtl/cp/ring.go",
			old:     "(r.rptr + (1 + pkt.IndirectBody)) & r.mask",
			new:     "(r.rptr + (1 + pkt.IndirectBody)) & r.mask\nif plant.Is(NAME) {\nr.rptr = (r.rptr - 1) & r.mask\n}",
			missing: why.MissingPacket, word: "OPCODE",
		},
		{
			name: "good-copy-refused", file: "rtl/cp/step.go",
			old:     "cause, bad := m.decode.verdict(m.file.src, m.file.dst)",
			new:     "cause, bad := m.decode.verdict(m.file.src, m.file.dst)\nif m.decode.op() == pkt.OpCopy && plant.Is(NAME) {\ncause = cpreg.CauseLength\n}",
			missing: why.MissingPacket, word: "LENGTH in COPY",
		},
		{
			name: "copy-to-another-address", file: "rtl/cp/issue.go", checks: "access",
			old:     "d.Src = m.walk.src&^mask",
			new:     "if plant.Is(NAME) && d.Dst>>63 != 0 {\nd.Dst += 0x3000\n}\nd.Src = m.walk.src&^mask",
			missing: why.MissingRule, word: "which no submission in the hardware uses",
		},
	}
}

// driverFaults are faults of the driver where it writes its rings.
func driverFaults() []mutated {
	return []mutated{
		{
			name: "waits-for-nobody", file: "hostdriver/ring/ring.go",
			old:     "start := r.head\n\tr.put(p)",
			new:     "start := r.head\nif plant.Nth(NAME, 3) {\nw, _ := (pkt.WaitFence{Node: 1, Value: 1000}).Append(nil)\nr.put(w)\n}\nr.put(p)",
			missing: why.MissingPacket, word: "it waits for timeline 1000 of node 1, which is 1; no submission of that node would raise it",
			dump: `(?m)^=> 0x\w+ +WAIT_FENCE node=1 value=1000$`,
		},
		{
			name: "waits-unseen", file: "hostdriver/ring/ring.go", board: "emu?trace=0",
			old:     `if plant.Nth("waits-for-nobody", 3) {`,
			new:     `if plant.Nth("waits-for-nobody", 3) || plant.Nth(NAME, 3) {`,
			missing: why.MissingPacket, word: "as the registers say: it waits for timeline 1000 of node 1, which is 1; no submission of that node would raise it",
			dump: `(?m)^=> 0x\w+ +WAIT_FENCE node=1 value=1000$`,
		},
	}
}

// kernelFaults are faults of the graphics kernel.
func kernelFaults() []mutated {
	return []mutated{
		{
			name: "not-given-to-the-miniport", file: "runtime/dxgkrnl/vidsch.go",
			old:     "st := k.driver.SubmitCommand(t, k.adapter, arg); st != ddi.StatusSuccess",
			new:     "st := ddi.StatusSuccess; !plant.Nth(NAME, 3) && k.driver.SubmitCommand(t, k.adapter, arg) != st",
			missing: why.MissingSubmit, word: "did not call DxgkDdiSubmitCommand",
		},
		{
			name: "another-fence", file: "runtime/dxgkrnl/vidsch.go",
			old:     "arg := s.arg // an interrupt may retire s",
			new:     "arg := s.arg\nif plant.Nth(NAME, 3) {\narg.SubmissionFenceID++\n}",
			missing: why.MissingSubmit, word: "SubmissionFenceID",
		},
		{
			name: "another-range", file: "runtime/dxgkrnl/vidsch.go",
			old:     "if st := ddi.StatusSuccess; !plant",
			new:     "if plant.Nth(NAME, 3) {\narg.DmaBufferSubmissionEndOffset -= 4\n}\nif st := ddi.StatusSuccess; !plant",
			missing: why.MissingSubmit, word: "DmaBufferSubmissionEndOffset",
		},
		{
			name: "dpc-not-queued", file: "runtime/dxgkrnl/interrupt.go",
			old:     "return k.dev.QueueDPC()",
			new:     "return plant.Is(NAME) || k.dev.QueueDPC()",
			ask:     fence(1, 1),
			missing: why.MissingRetire, word: "DxgkDdiDpcRoutine was not called",
		},
		{
			name: "reports-not-retired", file: "runtime/dxgkrnl/interrupt.go",
			old:     "k.retire(t)\n",
			new:     "if !plant.Is(NAME) {\nk.retire(t)\n}\n",
			missing: why.MissingRetire, word: "the kernel did not retire it",
		},
		{
			name: "wake-up-lost", file: "runtime/dxgkrnl/job.go",
			old:     "if k.moving || k.err != nil {",
			new:     "if k.moving || k.err != nil || plant.Is(NAME) && k.jobs > 1 {",
			missing: why.MissingSubmit, word: "all that it waits for has ended",
		},
		{
			name: "interrupt-not-passed-on", file: "runtime/dxgkrnl/interrupt.go",
			old:     "claimed := k.driver.InterruptRoutine(t, k.adapter, uint32(message))",
			new:     "claimed := plant.Is(NAME) || k.driver.InterruptRoutine(t, k.adapter, uint32(message))",
			ask:     fence(1, 1),
			missing: why.MissingReport, word: "DxgkDdiInterruptRoutine was not called",
		},
		{
			name: "another-place-to-patch", file: "runtime/dxgkrnl/render.go", checks: "access",
			old:     "d.list[i].SegmentID, d.list[i].PhysicalAddress = a.segment.id, a.address()",
			new:     "d.list[i].SegmentID, d.list[i].PhysicalAddress = a.segment.id, a.address()\nif plant.Is(NAME) {\nd.list[i].PhysicalAddress += 256\n}",
			missing: why.MissingSubmit, word: "PhysicalAddress",
		},
		{
			name: "paged-in-without-content", file: "runtime/dxgkrnl/residency.go",
			old: "if !a.content {\n\t\tk.stats.BytesFilled",
			new: "if plant.Is(NAME) {\nreturn ddi.StatusSuccess\n}\nif !a.content {\n\t\tk.stats.BytesFilled",
			ask: pixel(20, 15), missing: why.MissingUnknown, word: "no paging operation", board: "emu?vram=16KiB",
		},
		{
			name: "evicted-while-listed", file: "runtime/dxgkrnl/make.go", checks: "access",
			old:     "k.use(s)\n",
			new:     "k.use(s)\nif plant.Nth(NAME, 1) {\nk.evict(t, d.object(p.end-1))\n}\n",
			missing: why.MissingSubmit, word: "evicted",
		},
		{
			name: "does-not-wait-for-another-node", file: "runtime/dxgkrnl/vidsch.go", checks: "access",
			old:     "return !m.precedes(n) && (",
			new:     "return !plant.Is(NAME) && !m.precedes(n) && (",
			missing: why.MissingRule, word: "and does not wait for it",
		},
	}
}

// mutatedBinary builds the command that has all faults.
func mutatedBinary(t *testing.T, dir string, all []mutated) string {
	t.Helper()
	sources := map[string]string{}
	for _, m := range all {
		path := filepath.Join("..", m.file)
		if sources[path] == "" {
			src, err := os.ReadFile(path)
			require.NoError(t, err)
			sources[path] = string(src)
		}
		require.Equal(t, 1, strings.Count(sources[path], m.old), "%s: %q in %s", m.name, m.old, m.file)
		sources[path] = strings.Replace(sources[path], m.old, strings.ReplaceAll(m.new, "NAME", `"`+m.name+`"`), 1)
	}
	changed := map[string][]byte{}
	for path, src := range sources {
		changed[path] = []byte(strings.Replace(src, "import (", "import (\n\""+plantPackage+"\"", 1))
	}
	file, err := overlay.Write(dir, changed)
	require.NoError(t, err)
	binary := filepath.Join(dir, "planted.exe")
	out, err := exec.Command("go", "build", "-overlay", file, "-o", binary, "./testdata/planted").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// readLog reads the log of a run.
func readLog(t *testing.T, name string) *why.Run {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	return runIn(t, f)
}

// A fault in the source of the RTL or of the kernel is the answer to why the run stopped, or why
// a fence or a pixel is not what it must be. The same question about a run without the fault has no missing link.
func TestPlantedSourcesAreNamed(t *testing.T) {
	tooltest.Long(t)
	all := slices.Concat(rtlFaults(), driverFaults(), kernelFaults())
	dir := t.TempDir()
	binary := mutatedBinary(t, dir, all)
	args, good := []string{dir}, map[string]string{}
	for _, m := range all {
		if good[m.options()] == "" {
			good[m.options()] = fmt.Sprint("none-", len(good))
			args = append(args, good[m.options()]+","+m.options())
		}
		args = append(args, m.name+","+m.options())
	}
	out, err := exec.Command(binary, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, m := range all {
		t.Run(m.name, func(t *testing.T) {
			ask := asks(m.ask)
			a, err := ask(readLog(t, filepath.Join(dir, good[m.options()]+".log")))
			require.NoError(t, err)
			assert.Empty(t, a.Missing, "without the fault: %s", a.Text())
			log, err := os.ReadFile(filepath.Join(dir, m.name+".log"))
			require.NoError(t, err)
			inquire(t, log, 1, false)
			a, err = ask(runIn(t, bytes.NewReader(log)))
			require.NoError(t, err)
			assert.Equal(t, m.missing, a.Missing, "%s", a.Text())
			assert.Contains(t, a.Verdict+"; "+a.Cause, m.word, "%s", a.Text())
			if m.dump != "" {
				dump, err := os.ReadFile(filepath.Join(dir, m.name+".dump"))
				require.NoError(t, err)
				assert.Regexp(t, m.dump, string(dump))
			}
		})
	}
}
