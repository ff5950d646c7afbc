package boards

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/boards/hwfault"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/wave"
)

// faults are those of a device: at its ports and in its hardware.
type faults struct {
	ports    []inproc.Fault
	hardware []hwfault.Fault
}

// portFault is a fault at the ports by its name.
type portFault struct {
	name, doc string
	kind      inproc.FaultKind
}

func portFaults() []portFault {
	return []portFault{
		{"lost-interrupt", "messages are dropped", inproc.LostInterrupt},
		{"lost-doorbell", "doorbells are dropped", inproc.LostDoorbell},
		{"dead", "the device answers nothing any more once a doorbell is rung", inproc.DeadDoorbell},
		{"dead-request", "the same once a BAR is accessed", inproc.DeadRequest},
	}
}

// faultOption is the option for the faults at the ports and, if hardware is
// set, for those of the hardware.
func faultOption(hardware bool) option {
	o := option{name: "fault", doc: "faults of the device, several with commas between"}
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

// faults reads the options of faults. Those of the hardware are for the
// emulator alone.
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
				o.bad(name, "a fault with it that counts events")
			}
		}
	}
	return all
}

// fault adds the one that text names.
func (o *values) fault(all *faults, text string, c gpu.Config, hardware bool) {
	for _, p := range portFaults() {
		if p.name == text {
			all.ports = append(all.ports, o.portFault(p.kind, c))
			return
		}
	}
	f, err := hwfault.Parse(text, c.VRAMBytes)
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

// faultNames lists what fault= takes.
func faultNames(hardware bool) string {
	names := faultOption(hardware).values
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// portFault returns a fault at the ports with the options that count.
func (o *values) portFault(kind inproc.FaultKind, c gpu.Config) inproc.Fault {
	f := inproc.Fault{Kind: kind}
	o.number("after", &f.After, 0, 1<<62)
	o.number("count", &f.Count, 1, 1<<62)
	for n := range c.Nodes {
		f.Doorbells = append(f.Doorbells, cpreg.Base+cpreg.Wptr+uint64(n)*cpreg.Stride)
	}
	return f
}

// harm is what counts the events that a fault harms.
type harm interface{ Injected() uint64 }

// atPorts returns dev with the faults at its ports, and what counts for them.
func atPorts(dev port.Device, all []inproc.Fault) (port.Device, []harm) {
	var harms []harm
	for _, f := range all {
		faulty := inproc.NewFaulty(dev, f)
		dev, harms = faulty, append(harms, faulty)
	}
	return dev, harms
}

// An Emulator is an emulated GPU without a link: what is served as a board at
// the end of a wire. It is a port.Device, clocked by whoever has it, from one
// goroutine at a time.
type Emulator struct {
	port.Device
	gpu   *gpu.GPU
	hz    uint64
	harms []harm
	found uint64 // bytes that the GPU had moved before
}

// Device builds the GPU of a selector of the scheme emu, its faults included.
// The options of the wire, latency, bandwidth and timeout, belong to the link
// in this process and are refused. It fails with ErrSelector.
func Device(selector string) (*Emulator, error) {
	name, query, _ := strings.Cut(selector, "?")
	s := emulator()
	if name != s.name {
		return nil, fmt.Errorf("%w: %q: %q is no device to be served, want %s", ErrSelector, selector, name, s.name)
	}
	given, err := s.parse(query)
	if err == nil {
		o := values{Values: given}
		for _, wire := range wireOptions {
			if o.Has(wire) {
				o.bad(wire, "no option of the wire for a device that is served")
			}
		}
		var e *Emulator
		if e, err = newEmulator(&o, nil); err == nil {
			return e, nil
		}
	}
	if errors.Is(err, errOption) {
		err = fmt.Errorf("%w: %q: %w", ErrSelector, selector, err)
	}
	return nil, err
}

// newEmulator builds the GPU and its faults from the options. It is recorded if
// wave is not nil.
func newEmulator(o *values, wave *wave.Recorder) (*Emulator, error) {
	config := o.config()
	all := o.faults(config, true)
	past := o.past()
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
	if err := past.befall(g, longIdle); err != nil {
		return nil, err
	}
	var dev hwfault.GPU = g
	if wave != nil {
		dev = wave.Attach(g)
	}
	e := &Emulator{Device: dev, gpu: g, hz: uint64(config.ClockHz), found: g.Stats().Moved}
	if len(all.hardware) > 0 {
		broken := hwfault.New(dev, config.VRAMBytes, all.hardware)
		e.Device, e.harms = broken, append(e.harms, broken)
	}
	ports, harms := atPorts(e.Device, all.ports)
	e.Device, e.harms = ports, append(e.harms, harms...)
	return e, nil
}

// Hz returns the clocks in a second.
func (e *Emulator) Hz() uint64 { return e.hz }

// Counters returns what the GPU counts and what its faults have harmed. It must
// not be called while the device is clocked.
func (e *Emulator) Counters() []Counter {
	return append(e.moved(), Counter{"harmed", harmed(e.harms)})
}

// moved returns what the GPU counts.
func (e *Emulator) moved() []Counter {
	g := e.gpu.Stats()
	return []Counter{
		{"packets_node0", uint64(g.Packets[0])},
		{"packets_node1", uint64(g.Packets[1])},
		{"bytes_moved", g.Moved - e.found},
	}
}

func harmed(all []harm) uint64 {
	var n uint64
	for _, h := range all {
		n += h.Injected()
	}
	return n
}
