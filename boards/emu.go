package boards

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/mcu/core"
)

func emulator() scheme {
	return scheme{
		name: "emu", doc: "the GPU emulated cycle by cycle in this process", open: openEmulator, options: options(true), emulated: true, virtual: true,
	}
}

// options returns the options of every emulated GPU. hardware specifies whether
// faults can be injected into its hardware.
func options(hardware bool) []option {
	return append(configOptions(),
		option{name: "latency", doc: "clocks from host to device and back again, each way, 1 to 65536"},
		option{name: "bandwidth", doc: "bytes a clock, each way, 1 to 64"},
		option{name: "timeout", doc: "clocks after which an unanswered request fails"},
		faultOption(hardware),
		option{name: "after", doc: "how many messages, doorbells, BAR requests, reads, preemptions or resets pass before the fault, 0 if not given"},
		option{name: "count", doc: "how many are then lost, all if not given"},
		option{name: "dirty", doc: "begins with the registers and the VRAM that an earlier host left, those of a seed, 0 to 18446744073709551615"},
	)
}

// configOptions are those that choose what is built.
func configOptions() []option {
	all := []option{
		{name: "config", doc: "default; full, which has a microcontroller too; or small (1 node, 8 KiB of VRAM, 40 and 16 bits, 4 tags; capabilities: " + caps.Small().String() + "); options change it", values: ConfigNames()},
		{name: "nodes", doc: "nodes, 1 or 2", values: []string{"1", "2"}},
		{name: "vram", doc: "VRAM, a power of two, 4KiB to 256MiB", values: []string{"4KiB", "8KiB", "64KiB", "1MiB", "16MiB"}},
		{name: "vramports", doc: "2 for VRAM that is read and written in the same clock, 1 for one or the other", values: []string{"1", "2"}},
		{name: "hostbits", doc: "width of a host address, 32 to 62"},
		{name: "lengthbits", doc: "width of a linear packet's byte count, 16 to 32"},
		{name: "tags", doc: "DMA reads in flight, 2, 4, 8 or 16", values: []string{"2", "4", "8", "16"}},
	}
	all = append(all, option{
		name: "payload", doc: "largest payload of a PCIe packet to the GPU in bytes, a power of two, 128 to 4096; 128 by default",
		values: []string{"128", "256", "512", "1024", "2048", "4096"},
	})
	all = append(all, option{name: "mcumem", doc: "memory of the microcontroller, a power of two, 8KiB to 64KiB", values: []string{"8KiB", "16KiB", "32KiB", "64KiB"}})
	for _, c := range caps.Table {
		doc := "1 for " + c.Doc + ", 0 for none"
		if c.With != 0 {
			doc += "; 1 brings " + c.With.String()
		}
		all = append(all, option{name: c.Option(), doc: doc, values: []string{"0", "1"}})
	}
	return append(all, option{name: "hz", doc: "clocks in a second, 1 to 4294967295"})
}

// wireOptions are the options of a link in this process.
var wireOptions = []string{"latency", "bandwidth", "timeout"}

// configs returns a named configuration.
func configs(name string) (gpu.Config, bool) {
	switch name {
	case "", "default":
		return gpu.Default(), true
	case "full":
		return gpu.Full(), true
	case "small":
		return gpu.Small(), true
	}
	return gpu.Default(), false
}

// ConfigNames returns the names of the configurations.
func ConfigNames() []string { return []string{"full", "default", "small"} }

// Config returns a named configuration, changed by options of the board emu, as
// in small?vramports=1. It fails with ErrSelector.
func Config(text string) (gpu.Config, error) {
	name, query, _ := strings.Cut(text, "?")
	c, known := configs(name)
	if !known || name == "" {
		return c, fmt.Errorf("%w: configuration %q, want full, default or small", ErrSelector, text)
	}
	given, err := scheme{options: configOptions()[1:]}.parse(query)
	if err == nil {
		given.Set("config", name)
		o := values{Values: given}
		c = o.config()
		err = o.err
	}
	if err != nil {
		err = fmt.Errorf("%w: configuration %q: %w", ErrSelector, text, err)
	}
	return c, err
}

// openEmulator creates a GPU and the wire to it.
func openEmulator(at opening) (bus.Link, bus.Clock, error) {
	o := values{Values: at.values}
	dev, err := newEmulator(&o, at.Options)
	if err != nil {
		return nil, nil, err
	}
	wire := o.wire(dev.gpu.Config())
	at.captureWire(&wire)
	if o.err != nil {
		return nil, nil, o.err
	}
	link, err := inproc.New(dev.Device, at.host, wire)
	if err != nil {
		return nil, nil, err
	}
	e := &emulated{faulty{link, dev.injectors}, dev, at.host}
	if len(dev.injectors) > 0 {
		return e, e, nil
	}
	return &twinned{emulated: e}, e, nil
}

// captureWire records the transactions of a wire.
func (o *opening) captureWire(wire *inproc.Options) {
	if o.Capture != nil {
		wire.Observer = o.Capture.Observer(wire.Hz, nil)
	}
}

// faulty is the wire to a device that may have injected faults.
type faulty struct {
	*inproc.Link
	injectors []injector
}

func newFaulty(dev port.Device, all []inproc.Fault, host bus.Host, wire inproc.Options) (f faulty, err error) {
	dev, f.injectors = atPorts(dev, all)
	f.Link, err = inproc.New(dev, host, wire)
	return f, err
}

// counters returns the counters of the wire and of the injected faults.
func (f faulty) counters() []Counter {
	var events uint64
	f.Sample(func() { events = injected(f.injectors) })
	s := f.Stats()
	return []Counter{
		{"clocks", f.Now()},
		{"host_reads", s.HostReads},
		{"host_writes", s.HostWrites},
		{"device_reads", s.DeviceReads},
		{"device_writes", s.DeviceWrites},
		{"bytes_to_device", s.BytesDown},
		{"bytes_from_device", s.BytesUp},
		{"messages", s.Messages},
		{"refused", s.Refused},
		{"harmed", events},
	}
}

func (o *values) config() gpu.Config {
	config, ok := configs(o.Get("config"))
	if !ok {
		o.bad("config", "full, default or small")
	}
	hz := uint64(config.ClockHz)
	o.integer("nodes", &config.Nodes, 1, cpreg.Nodes)
	o.bytes("vram", &config.VRAMBytes, 4<<10, 256<<20)
	o.integer("vramports", &config.VRAMPorts, 1, 2)
	o.integer("hostbits", &config.HostBits, 32, 62)
	o.integer("lengthbits", &config.LengthBits, 16, 32)
	o.integer("tags", &config.Tags, 2, 16)
	o.integer("payload", &config.MaxPayload, 128, 4096)
	for _, c := range caps.Table {
		o.capability(c, &config.Caps)
	}
	o.needed(&config.Caps)
	mcu := uint64(config.MCUBytes)
	o.bytes("mcumem", &mcu, core.MinBytes, core.MaxBytes)
	config.MCUBytes = int(mcu)
	o.number("hz", &hz, 1, 1<<32-1)
	config.ClockHz = uint32(hz)
	return config
}

func (o *values) wire(c gpu.Config) inproc.Options {
	w := inproc.Options{Hz: uint64(c.ClockHz)}
	o.integer("latency", &w.Latency, 1, 65536)
	o.integer("bandwidth", &w.BytesPerClock, 1, 64)
	o.number("timeout", &w.Timeout, 1, 1<<40)
	return w
}

// emulated is the link to an emulated GPU.
type emulated struct {
	faulty
	dev  *Emulator
	host bus.Host
}

// vramBAR is the BAR with the aperture to VRAM.
const vramBAR = 2

// Peek implements Peeker, for the aperture to VRAM.
func (e *emulated) Peek(bar int, off uint64, p []byte) bool {
	size := uint64(e.dev.gpu.Config().VRAMBytes)
	if bar != vramBAR || off > size || uint64(len(p)) > size-off {
		return false
	}
	e.Sample(func() { e.dev.gpu.PeekVRAM(off, p) })
	return true
}

// Translate implements Translator.
func (e *emulated) Translate(addr uint64) (entry uint64, ok bool) {
	if addr&pkt.Host != 0 || addr>>gartreg.StartLog2&1 == 0 {
		return 0, true
	}
	var at uint64
	page := uint32(addr>>gartreg.PageLog2) & (gartreg.MaxPages - 1)
	e.Sample(func() { entry, at, ok = e.dev.gpu.ApertureEntry(page) })
	if ok {
		return entry, true
	}
	var b [gartreg.EntryBytes]byte
	if at&pkt.Host == 0 {
		ok = e.Peek(vramBAR, at, b[:])
	} else {
		ok = peekMem(e.host, at&^pkt.Host, b[:]) == nil
	}
	return binary.LittleEndian.Uint64(b[:]), ok
}

// Counters returns the counters of the GPU and the wire.
func (e *emulated) Counters() []Counter {
	var all []Counter
	e.Sample(func() { all = e.dev.moved() })
	return append(all, e.counters()...)
}
