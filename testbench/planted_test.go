package testbench

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/inject"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// A planted fault and what an answer must say of it: the first missing link, and a word of the
// cause or the verdict. Both follow from the fault.
type planted struct {
	name    string
	board   string // "": emu
	kernel  func(d *kmddi.DriverInitializationData)
	user    func(arg *umddi.CreateDevice)
	system  func(s *System)
	options Options
	verify  bool
	ask     func(r *why.Run) (*why.Answer, error) // nil: why the run stopped
	missing string
	word    string
}

// at0 changes the first dwords of the first buffer of a node that is patched.
func at0(node uint32, dwords ...uint32) func(d *kmddi.DriverInitializationData) {
	return patching(func(arg kmddi.Patch) bool {
		if arg.NodeOrdinal != node {
			return false
		}
		for i, v := range dwords {
			binary.LittleEndian.PutUint32(arg.DmaBuffer[int(arg.DmaBufferSubmissionStartOffset)+4*i:], v)
		}
		return true
	})
}

// patching calls change after DxgkDdiPatch until it returns true.
func patching(change func(arg kmddi.Patch) bool) func(d *kmddi.DriverInitializationData) {
	return func(d *kmddi.DriverInitializationData) {
		patch, done := d.Patch, false
		d.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
			s := patch(t, h, arg)
			if !done {
				done = change(arg)
			}
			return s
		}
	}
}

// packets returns a change that rewrites the first packet with an opcode in a buffer.
func packets(op uint8, rewrite func(p []byte)) func(d *kmddi.DriverInitializationData) {
	return patching(func(arg kmddi.Patch) bool {
		rest := arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset:arg.DmaBufferSubmissionEndOffset]
		for len(rest) > 0 {
			l, p, next, err := pkt.Next(rest)
			if err != nil {
				return false
			}
			if l.Op == op {
				rewrite(p)
				return true
			}
			rest = next
		}
		return false
	})
}

// paging changes the buffers of DxgkDdiBuildPagingBuffer.
func pages(change func(b []byte)) func(d *kmddi.DriverInitializationData) {
	return func(d *kmddi.DriverInitializationData) {
		build := d.BuildPagingBuffer
		d.BuildPagingBuffer = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status) {
			out, s := build(t, h, arg)
			change(arg.DmaBuffer)
			return out, s
		}
	}
}

func dword(p []byte, i int, v uint32) { binary.LittleEndian.PutUint32(p[4*i:], v) }

func fence(node int, id uint32) func(r *why.Run) (*why.Answer, error) {
	return func(r *why.Run) (*why.Answer, error) { return r.Fence(node, id) }
}

func pixel(x, y uint16) func(r *why.Run) (*why.Answer, error) {
	return func(r *why.Run) (*why.Answer, error) { return r.Pixel(x, y) }
}

func boardFaults() []planted {
	return []planted{
		{name: "doorbell lost", board: "emu?fault=lost-doorbell", missing: why.MissingDoorbell, word: "the doorbell CP1.WPTR = 0x9 at clock 2251 was lost"},
		{name: "second doorbell lost", board: "emu?nodes=1&fault=lost-doorbell&after=1", missing: why.MissingDoorbell, word: "the doorbell CP0.WPTR = 0x12 at clock 2069 was lost"},
		{name: "doorbell lost, small", board: "emu?config=small&fault=lost-doorbell", missing: why.MissingDoorbell, word: "the doorbell CP0.WPTR = 0x9 at clock 1972 was lost"},
		{name: "interrupt lost", board: "emu?fault=lost-interrupt", ask: fence(1, 2), missing: why.MissingMessage, word: "did not arrive"},
		{name: "second interrupt lost", board: "emu?nodes=1&fault=lost-interrupt&after=1", ask: fence(0, 3), missing: why.MissingMessage, word: "did not arrive"},
		{name: "interrupt lost, short TdrDelay", board: "emu?fault=lost-interrupt&after=3", options: Options{TdrDelay: 2_000_000}, ask: fence(0, 3), missing: why.MissingMessage, word: "did not arrive"},
		{name: "device dies at a doorbell", board: "emu?fault=dead", missing: why.MissingFetch, word: "the device does not answer: the read of CP1.FENCE"},
		{name: "device dies at an access", board: "emu?fault=dead-request&after=50", missing: why.MissingReport, word: "the device does not answer: the read of INTC.STATUS"},
		{name: "read of the ring is not answered", board: "emu?fault=lost-answer", missing: why.MissingFetch, word: "READ_ERROR in the packet of the ring at HOST+0x102000: a read was answered with an error, or was not answered in time"},
		{name: "read of a buffer is not answered", board: "emu?fault=lost-answer&after=1", missing: why.MissingPacket, word: "READ_ERROR in FILL dst=VRAM+0x0 bytes=7744 value=0x0 at IB+0x0 of submission 1: a read was answered with an error, or was not answered in time"},
		{name: "answers come late", board: "emu?fault=late-answer", missing: why.MissingFetch, word: "READ_ERROR in the packet of the ring at HOST+0x102000: a read was answered with an error, or was not answered in time"},
		{name: "read is not answered, no time-out", board: "emu?readtimeout=0&fault=lost-answer", missing: why.MissingFetch, word: "node 1 has not begun it, and waits for a read of its ring; CP1 has STATUS 0x0, RPTR 0x0, WPTR 0x9"},
	}
}

// linkFaults are faults of the link, and between the PC and the board. The log is that of the host.
func linkFaults() []planted {
	unplugged, doorbell := &inject.Injector{}, &inject.Injector{}
	doorbell.LoseWrites(1, cpreg.Base+cpreg.Stride+cpreg.Wptr, 0)
	return []planted{
		{name: "link is cut", board: "line?baud=3000000&faults=cut=400", missing: why.MissingLink, word: "bus: link down: line: cut"},
		{name: "link is cut in the enumeration", board: "line?baud=3000000&faults=cut=40", missing: why.MissingLink, word: "the link is down: line: cut"},
		{name: "link loses frames", board: "line?baud=3000000&faults=loss=0.6,seed=3", missing: why.MissingLink, word: "the link loses or damages frames: the host sent"},
		{name: "link cuts frames short", board: "line?baud=3000000&faults=truncate=0.6,seed=3", missing: why.MissingLink, word: "the link loses or damages frames: the host sent"},
		{name: "completions are damaged", board: "line?baud=3000000&faults=flip=0.5,seed=3", missing: why.MissingPacket, word: "a read was answered with an error, or was not answered in time; the link loses or damages frames"},
		{name: "link stalls", board: "line?baud=3000000&faults=stall=0.002:10s,seed=9", missing: why.MissingLink, word: "bus: link down: datalink: nothing received for"},
		{name: "nothing arrives", board: "line?baud=3000000&faults=loss=1", missing: why.MissingOpen, word: "link down: datalink: no answer to hello"},
		{name: "board is silent", board: "line?baud=3000000&fault=dead", missing: why.MissingFetch, word: "the device does not answer: the read of CP1.FENCE"},
		{name: "board is pulled out", options: Options{Inject: unplugged}, missing: why.MissingLink, word: "link down: the board was unplugged", system: func(*System) { unplugged.Unplug() }},
		{name: "doorbell is lost on the way", options: Options{Inject: doorbell}, missing: why.MissingDoorbell, word: "the doorbell CP1.WPTR = 0x9 "},
	}
}

func minidriverFaults() []planted {
	le := func(p []byte, i int) uint32 { return binary.LittleEndian.Uint32(p[4*i:]) }
	return []planted{
		{name: "submit does not ring", missing: why.MissingDoorbell, word: "wrote no register", kernel: func(d *kmddi.DriverInitializationData) {
			d.SubmitCommand = func(*ddi.Thread, kmddi.HAdapter, kmddi.SubmitCommand) ddi.Status { return ddi.StatusSuccess }
		}},
		{name: "submit of the wrong bytes", missing: why.MissingPacket, word: "the INDIRECT of the ring has 1008 dwords at HOST+0x103004, want 1009 at HOST+0x103000", kernel: func(d *kmddi.DriverInitializationData) {
			submit := d.SubmitCommand
			d.SubmitCommand = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.SubmitCommand) ddi.Status {
				if !arg.Flags.Paging {
					arg.DmaBufferSubmissionStartOffset += 4
				}
				return submit(t, h, arg)
			}
		}},
		{name: "unknown opcode", missing: why.MissingPacket, word: "OPCODE in .word 0x7f000000", kernel: at0(0, 0x7f000000)},
		{name: "reserved bit", missing: why.MissingPacket, word: "RESERVED in .word 0x04010005 ; pkt: reserved bit set: COPY header 0x04010005", kernel: packets(pkt.OpCopy, func(p []byte) { dword(p, 0, le(p, 0)|1<<16) })},
		{name: "wrong length", missing: why.MissingPacket, word: "LENGTH in .word 0x04000006 ; pkt: bad length: COPY with a body of 6 dwords, want 5", kernel: packets(pkt.OpCopy, func(p []byte) { dword(p, 0, le(p, 0)+1) })},
		{name: "address without memory", missing: why.MissingPacket, word: "after DxgkDdiPatch the address at IB+0x4 of submission 2 is", kernel: packets(pkt.OpCopy, func(p []byte) { dword(p, 2, 0x40000000) })},
		{name: "fence in a buffer", missing: why.MissingPacket, word: "PRIVILEGE in FENCE addr=", kernel: at0(0, pkt.OpFence<<24|pkt.FenceBody, 0, 0, 1, 0)},
		{name: "forbidden register", missing: why.MissingPacket, word: "REGISTER in WRITE_REG off=0x1000 value=0x1 ", kernel: at0(0, pkt.OpWriteReg<<24|pkt.WriteRegBody, 0x1000, 1)},
		{name: "surface out of range", missing: why.MissingPacket, word: "RESERVED in SET_STATE", kernel: packets(pkt.OpSetState, func(p []byte) { dword(p, 5, 99) })},
		{name: "wait in a buffer", missing: why.MissingPacket, word: "PRIVILEGE in WAIT_FENCE node=1 value=1000", kernel: packets(pkt.OpSetState, func(p []byte) {
			for i, v := range []uint32{pkt.OpWaitFence<<24 | pkt.WaitFenceBody, 1, 1000, 0, pkt.OpNOP<<24 | 3} {
				dword(p, i, v)
			}
		})},
		{name: "bad paging buffer", missing: why.MissingPacket, word: "OPCODE in .word 0x7f000000", kernel: pages(func(b []byte) { dword(b, 0, 0x7f000000) })},
		{name: "paging outside VRAM", missing: why.MissingPacket, word: "ADDRESS in FILL dst=APERTURE+0x0", kernel: pages(func(b []byte) { dword(b, 2, 0x100) })},
		{name: "ISR reports nothing", missing: why.MissingReport, word: "no DxgkCbNotifyInterrupt", kernel: func(d *kmddi.DriverInitializationData) {
			d.InterruptRoutine = func(*ddi.Thread, kmddi.HAdapter, uint32) bool { return false }
			d.QueryCurrentFence = func(*ddi.Thread, kmddi.HAdapter, kmddi.QueryCurrentFence) (kmddi.QueryCurrentFenceOut, ddi.Status) {
				return kmddi.QueryCurrentFenceOut{}, ddi.StatusUnsuccessful
			}
		}},
		{name: "DPC retires nothing", missing: why.MissingRetire, word: "no DxgkCbNotifyDpc", verify: true, kernel: func(d *kmddi.DriverInitializationData) {
			d.DpcRoutine = func(*ddi.Thread, kmddi.HAdapter) {}
		}, ask: fence(1, 1)},
		{name: "a rule of the miniport", missing: why.MissingRule, word: "DxgkDdiPatch", verify: true, kernel: func(d *kmddi.DriverInitializationData) {
			d.Patch = func(*ddi.Thread, kmddi.HAdapter, kmddi.Patch) ddi.Status { return ddi.StatusUnsuccessful }
		}},
		{name: "a panic of the miniport", missing: why.MissingRule, word: "DxgkDdiSubmitCommand", verify: true, kernel: func(d *kmddi.DriverInitializationData) {
			d.SubmitCommand = func(*ddi.Thread, kmddi.HAdapter, kmddi.SubmitCommand) ddi.Status { panic("planted") }
		}},
	}
}

// droppedFaults are drivers that drop commands, on boards with much VRAM and with little.
func droppedFaults() (all []planted) {
	for _, board := range []string{"emu", "emu?vram=16KiB", "emu?config=small&vram=16KiB", "emu?vram=32KiB&nodes=1", "emu?gart=1", "emu?config=full"} {
		all = append(all, planted{
			name: "the driver drops a copy, " + board, board: board, verify: true, ask: pixel(20, 15),
			missing: why.MissingCommand, word: "CopyResource, gave the GPU no packet: pfnResourceCopy returned",
			user: func(arg *umddi.CreateDevice) {
				arg.DeviceFuncs.ResourceCopy = func(*ddi.Thread, umddi.HDevice, umddi.HResource, umddi.HResource) {}
			},
		}, planted{
			name: "the driver drops every list, " + board, board: board, verify: true, ask: pixel(20, 15),
			missing: why.MissingCommand, word: "ExecuteCommandList, gave the GPU no packet: pfnCommandListExecute returned",
			user: func(arg *umddi.CreateDevice) {
				arg.DeviceFuncs.CommandListExecute = func(*ddi.Thread, umddi.HDevice, umddi.HCommandList) {}
			},
		})
	}
	return all
}

func otherFaults() []planted {
	return []planted{
		{name: "a row of the present comes from elsewhere", ask: pixel(20, 15), word: "after DxgkDdiPatch the address at IB+0x8 of submission 4 is VRAM+0x80000, want", missing: why.MissingPatch, kernel: func(d *kmddi.DriverInitializationData) {
			presents := patching(func(arg kmddi.Patch) bool {
				if arg.Flags.Present {
					dword(arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset:], 2, 0x80000)
					dword(arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset:], 3, 0)
				}
				return arg.Flags.Present
			})
			presents(d)
		}},
		{name: "the kernel holds interrupts", missing: why.MissingReport, word: "DxgkDdiInterruptRoutine was not called", system: func(s *System) {
			s.device.Hold(true)
		}, kernel: func(d *kmddi.DriverInitializationData) {
			d.QueryCurrentFence = func(*ddi.Thread, kmddi.HAdapter, kmddi.QueryCurrentFence) (kmddi.QueryCurrentFenceOut, ddi.Status) {
				return kmddi.QueryCurrentFenceOut{}, ddi.StatusUnsuccessful
			}
		}},
	}
}

// hastyFaults are time-outs of nodes that are at work. On a slow link the node has not begun when TdrDelay ends.
func hastyFaults() (all []planted) {
	for board, missing := range map[string]string{
		"emu": why.MissingPacket, "emu?vram=16KiB": why.MissingPacket, "emu?config=full": why.MissingPacket, "line?baud=3000000": why.MissingFetch,
	} {
		all = append(all, planted{name: "the kernel gives up too early, " + board, board: board, options: Options{TdrDelay: 500}, missing: missing, word: "the node was at work: TdrDelay ended"})
	}
	return all
}

// asks returns a question: without one, why the run stopped.
func asks(question func(r *why.Run) (*why.Answer, error)) func(r *why.Run) (*why.Answer, error) {
	if question != nil {
		return question
	}
	return func(r *why.Run) (*why.Answer, error) { return r.Fault(), nil }
}

// sound returns the board of a planted fault without its faults.
func (p planted) sound() string {
	name, query, _ := strings.Cut(cmp.Or(p.board, "emu"), "?")
	var options []string
	for o := range strings.SplitSeq(query, "&") {
		key, _, _ := strings.Cut(o, "=")
		if !slices.Contains([]string{"", "fault", "faults", "after"}, key) {
			options = append(options, o)
		}
	}
	return strings.TrimSuffix(name+"?"+strings.Join(options, "&"), "?")
}

// plantedRun composes with a planted fault and reads the log.
func plantedRun(t *testing.T, p planted) *why.Run {
	t.Helper()
	return runIn(t, bytes.NewReader(plantedLog(t, p)))
}

// plantedLog composes with a planted fault and returns the log. Nothing but the work of one frame may come of it: the kernel does not reset nodes,
// and most have no checks.
func plantedLog(t *testing.T, p planted) []byte {
	t.Helper()
	o := p.options
	o.NoVerify = !p.verify
	log, _ := plantedIn(t, p, o, Drivers.WithoutNodeRecovery)
	return log
}

// plantedIn composes with a planted fault and returns the log and the error. with changes the drivers.
func plantedIn(t *testing.T, p planted, o Options, with func(d Drivers) Drivers) ([]byte, error) {
	t.Helper()
	var ring *eventlog.Ring
	o.CallLimit = time.Minute
	o.Record = func(h eventlog.Header) (events.Sink, error) {
		ring = eventlog.NewRing(64<<20, h)
		return ring, nil
	}
	drivers := HostDrivers()
	if p.kernel != nil {
		drivers = withKernel(p.kernel)
	}
	if p.user != nil {
		drivers.UserMode = withUser(p.user).UserMode
	}
	s, err := Open(cmp.Or(p.board, "emu"), with(drivers), o)
	if err == nil {
		if p.system != nil {
			p.system(s)
		}
		_, err = compose.Run(s, smallPlan(t, 1))
		err = cmp.Or(err, s.Close())
	}
	end := eventlog.New(eventlog.End) // as a command ends its log
	if err != nil {
		end = end.WithText(err.Error())
	}
	ring.Add(end)
	return ringReader(t, ring).Bytes(), err
}

// runOf reads the log in a ring.
func runOf(t *testing.T, ring *eventlog.Ring) *why.Run {
	t.Helper()
	return runIn(t, ringReader(t, ring))
}

// runIn reads a log.
func runIn(t *testing.T, log io.Reader) *why.Run {
	t.Helper()
	l, err := eventlog.NewReader(log)
	require.NoError(t, err)
	r, err := why.Read(l)
	require.NoError(t, err)
	return r
}

// Each planted fault is the answer to why the run stopped. The same question about a run without the fault has no missing link.
func TestPlantedFaultsAreNamed(t *testing.T) {
	all := slices.Concat(boardFaults(), linkFaults(), minidriverFaults(), droppedFaults(), hastyFaults(), otherFaults())
	assert.GreaterOrEqual(t, len(all), 30)
	assert.GreaterOrEqual(t, len(linkFaults()), 4)
	good := map[string]*why.Run{}
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) {
			board := p.sound()
			if good[board] == nil {
				good[board] = plantedRun(t, planted{board: board, verify: true})
			}
			a, err := asks(p.ask)(good[board])
			require.NoError(t, err)
			assert.Empty(t, a.Missing, "without the fault: %s", a.Text())
			r := plantedRun(t, p)
			a, err = asks(p.ask)(r)
			require.NoError(t, err)
			assert.Equal(t, p.missing, a.Missing, "%s", a.Text())
			assert.Contains(t, a.Verdict+"; "+a.Cause, p.word, "%s", a.Text())
		})
	}
}
