package boards

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/boards/hwfault"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// faults are the faults to inject into a device: at its ports and in its
// hardware.
type faults struct {
	ports    []inproc.Fault
	hardware []hwfault.Fault
}

// portFault is a named fault injected at the ports.
type portFault struct {
	name, doc string
	kind      inproc.FaultKind
	registers []inproc.Register // that the kind is about, of both nodes
}

func portFaults() []portFault {
	return []portFault{
		{name: "lost-interrupt", doc: "messages are dropped", kind: inproc.LostInterrupt},
		{name: "lost-doorbell", doc: "doorbells of rings are dropped, not those of the firmware's queues", kind: inproc.LostDoorbell},
		{name: "dead", doc: "the device stops answering after a doorbell of a ring", kind: inproc.DeadDoorbell},
		{name: "dead-request", doc: "the device stops answering after a BAR access", kind: inproc.DeadRequest},
		{name: "lost-answer", doc: "reads of host memory are not answered", kind: inproc.LostAnswer},
		{name: "late-answer", doc: fmt.Sprintf("reads of host memory are answered %d clocks later", inproc.LateClocks), kind: inproc.LateAnswer},
		{name: "ignore-preempt", doc: "nodes ignore writes of PREEMPT", kind: inproc.IgnoreWrite, registers: perNode(inproc.Register{Off: cpreg.Preempt})},
		{
			name: "ignore-reset", doc: "nodes ignore CTL.RESET, and the device ignores ID.RESET; a function-level reset works", kind: inproc.IgnoreWrite,
			registers: append(perNode(inproc.Register{Off: cpreg.Ctl, Bits: cpreg.CtlReset}), inproc.Register{Off: idreg.Base + idreg.Reset, Bits: idreg.ResetWhole}),
		},
	}
}

// perNode returns a register of each node, given one whose offset is in the node's block.
func perNode(r inproc.Register) []inproc.Register {
	all := make([]inproc.Register, cpreg.Nodes)
	for n := range all {
		all[n] = inproc.Register{Off: cpreg.Base + uint64(n)*cpreg.Stride + r.Off, Bits: r.Bits}
	}
	return all
}

// faultOption is the option for faults injected at the ports and, if hardware
// is set, in the hardware.
func faultOption(hardware bool) option {
	o := option{name: "fault", doc: "faults injected into the device, separated by commas"}
	for _, f := range portFaults() {
		o.values = append(o.values, f.name)
	}
	if hardware {
		for _, f := range hwfault.Forms() {
			o.values = append(o.values, f.Text)
		}
	}
	return o
}

// faults parses the options for injected faults. Only the emulator supports
// hardware faults.
func (o *values) faults(c gpu.Config, hardware bool) faults {
	var all faults
	if o.Has("fault") {
		for text := range strings.SplitSeq(o.Get("fault"), ",") {
			o.fault(&all, text, c, hardware)
		}
	}
	if len(all.ports) == 0 && o.err == nil {
		for _, name := range []string{"after", "count"} {
			if o.Has(name) {
				o.bad(name, "fault= with a fault that counts events")
			}
		}
	}
	return all
}

// fault adds the fault that text names.
func (o *values) fault(all *faults, text string, c gpu.Config, hardware bool) {
	for _, p := range portFaults() {
		if p.name == text {
			all.ports = append(all.ports, o.portFault(p, c))
			return
		}
	}
	f, err := hwfault.Parse(text, c.VRAMBytes, mcuBytes(c))
	var bad *hwfault.Error
	switch {
	case hardware && err == nil:
		all.hardware = append(all.hardware, f)
	case hardware && errors.As(err, &bad) && bad.Known:
		o.bad("fault", bad.Want)
	default:
		o.bad("fault", faultNames(hardware))
	}
}

// mcuBytes returns the size of the memory of the microcontroller in bytes, or 0 if there is none.
func mcuBytes(c gpu.Config) int {
	if !c.Caps.Has(caps.MCU) {
		return 0
	}
	return c.MCUBytes
}

// faultNames lists the values of fault=.
func faultNames(hardware bool) string {
	names := faultOption(hardware).values
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// portFault returns a fault at the ports with the options after and count.
func (o *values) portFault(p portFault, c gpu.Config) inproc.Fault {
	f := inproc.Fault{Kind: p.kind, Registers: p.registers}
	o.number("after", &f.After, 0, 1<<62)
	o.number("count", &f.Count, 1, 1<<62)
	for n := range c.Nodes {
		f.Doorbells = append(f.Doorbells, cpreg.Base+cpreg.Wptr+uint64(n)*cpreg.Stride)
	}
	return f
}

// An injector counts the events affected by an injected fault.
type injector interface{ Injected() uint64 }

// atPorts returns dev with faults injected at its ports, and their injectors.
func atPorts(dev port.Device, all []inproc.Fault) (port.Device, []injector) {
	var injectors []injector
	for _, f := range all {
		faulty := inproc.NewFaulty(dev, f)
		dev, injectors = faulty, append(injectors, faulty)
	}
	return dev, injectors
}

// An Emulator is an emulated GPU without a link, to be served as a board at the
// end of a wire. It is a port.Device. Only one goroutine at a time may clock
// it.
type Emulator struct {
	port.Device
	gpu         *gpu.GPU
	hz          uint64
	injectors   []injector
	movedBefore uint64    // bytes the GPU had moved before
	seen        *observed // nil: nothing observes the GPU
}

// Device creates the GPU of a selector of the scheme emu, with its injected
// faults. It refuses the options latency, bandwidth and timeout, which belong
// to a link in this process. It fails with ErrSelector.
func Device(selector string) (*Emulator, error) { return ObservedDevice(selector, nil) }

// ObservedDevice is Device. see, if not nil, is told what the GPU does, as Options.Observe.
func ObservedDevice(selector string, see func(Observation)) (*Emulator, error) {
	name, query, _ := strings.Cut(selector, "?")
	s := emulator()
	if name != s.name {
		return nil, fmt.Errorf("%w: %q: %q cannot be served, want %s, or gateware as in pins:NAME", ErrSelector, selector, name, s.name)
	}
	given, err := s.parse(query)
	if err == nil {
		o := values{Values: given}
		for _, wire := range wireOptions {
			if o.Has(wire) {
				o.bad(wire, "no wire option for a served device")
			}
		}
		var e *Emulator
		if e, err = newEmulator(&o, Options{Observe: see}); err == nil {
			return e, nil
		}
	}
	if errors.Is(err, errOption) {
		err = fmt.Errorf("%w: %q: %w", ErrSelector, selector, err)
	}
	return nil, err
}

// newEmulator creates the GPU and its injected faults from the options. It
// records the GPU if wave is not nil.
func newEmulator(o *values, opt Options) (*Emulator, error) {
	config := o.config()
	all := o.faults(config, true)
	use := o.earlierUse()
	if o.err != nil {
		return nil, o.err
	}
	g, err := gpu.New(config)
	if errors.Is(err, gpu.ErrConfig) {
		return nil, fmt.Errorf("%w: %w", errOption, err)
	}
	if err != nil {
		return nil, err
	}
	if err := use.apply(g, longIdle); err != nil {
		return nil, err
	}
	var dev hwfault.GPU = g
	if opt.Wave != nil {
		dev = opt.Wave.Attach(g)
	}
	e := &Emulator{gpu: g, hz: uint64(config.ClockHz), movedBefore: g.Stats().Moved}
	if opt.Observe != nil {
		e.seen = newObserved(dev, g, opt.Observe)
		dev = e.seen
	}
	e.Device = dev
	if len(all.hardware) > 0 {
		broken := hwfault.New(dev, config.VRAMBytes, all.hardware)
		e.Device, e.injectors = broken, append(e.injectors, broken)
	}
	ports, injectors := atPorts(e.Device, all.ports)
	e.Device, e.injectors = ports, append(e.injectors, injectors...)
	return e, nil
}

// Hz returns the number of clocks per second.
func (e *Emulator) Hz() uint64 { return e.hz }

// Clock returns the clocks of a GPU that is observed, from power on; otherwise 0. It must not be called
// while the device is clocked.
func (e *Emulator) Clock() uint64 {
	if e.seen == nil {
		return 0
	}
	return e.seen.clock
}

// MaxPayload returns the largest payload of a PCIe packet to the GPU, in bytes.
func (e *Emulator) MaxPayload() int { return e.gpu.Config().MaxPayload }

// Counters returns the counters of the GPU and of its injected faults. It must
// not be called while the device is clocked.
func (e *Emulator) Counters() []Counter {
	return append(e.moved(), Counter{"harmed", injected(e.injectors)})
}

// moved returns the counters of the GPU.
func (e *Emulator) moved() []Counter {
	g := e.gpu.Stats()
	return []Counter{
		{"packets_node0", uint64(g.Packets[0])},
		{"packets_node1", uint64(g.Packets[1])},
		{"bytes_moved", g.Moved - e.movedBefore},
	}
}

func injected(all []injector) uint64 {
	var n uint64
	for _, h := range all {
		n += h.Injected()
	}
	return n
}
