package boards

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

func emulator() scheme {
	return scheme{
		name: "emu", doc: "the GPU emulated cycle by cycle in this process", open: openEmulator, options: options(),
	}
}

// options are those of every GPU in this process or beside it.
func options() []option {
	return []option{
		{"config", "default or small (1 node, 8 KiB of VRAM, 40 and 16 bits, 4 tags); options change it"},
		{"nodes", "nodes, 1 or 2"},
		{"vram", "VRAM, a power of two, 8KiB to 256MiB"},
		{"hostbits", "width of a host address, 32 to 62"},
		{"lengthbits", "width of a linear packet's byte count, 16 to 32"},
		{"tags", "DMA reads in flight, 2, 4, 8 or 16"},
		{"hz", "clocks in a second, 1 to 4294967295"},
		{"latency", "clocks from host to device and back again, each way, 1 to 65536"},
		{"bandwidth", "bytes a clock, each way, 1 to 64"},
		{"timeout", "clocks after which an unanswered request fails"},
		{"fault", "lost-interrupt: messages are dropped; lost-doorbell: doorbells are dropped; " +
			"dead: the device answers nothing any more once a doorbell is rung; " +
			"dead-request: the same once a BAR is accessed"},
		{"after", "how many messages, doorbells or BAR requests pass before the fault, 0 if not given"},
		{"count", "how many are then lost, all if not given"},
	}
}

// configs are the named configurations.
func configs(name string) (gpu.Config, bool) {
	c := gpu.Default()
	switch name {
	case "", "default":
	case "small":
		c.Nodes, c.VRAMBytes, c.HostBits, c.LengthBits, c.Tags = 1, 8<<10, 40, 16, 4
	default:
		return c, false
	}
	return c, true
}

// faultKinds are the faults by name.
func faultKinds(name string) (inproc.FaultKind, bool) {
	switch name {
	case "lost-interrupt":
		return inproc.LostInterrupt, true
	case "lost-doorbell":
		return inproc.LostDoorbell, true
	case "dead":
		return inproc.DeadDoorbell, true
	case "dead-request":
		return inproc.DeadRequest, true
	}
	return 0, false
}

// openEmulator builds a GPU and the wire to it.
func openEmulator(given url.Values, host bus.Host) (bus.Link, bus.Clock, error) {
	o := values{Values: given}
	config := o.config()
	wire := o.wire(config)
	fault := o.fault(config)
	if o.err != nil {
		return nil, nil, o.err
	}
	g, err := gpu.New(config)
	if errors.Is(err, gpu.ErrConfig) {
		return nil, nil, fmt.Errorf("%w: %w", errOption, err)
	}
	if err != nil {
		return nil, nil, err
	}
	e := &emulated{gpu: g}
	if e.faulty, err = newFaulty(g, fault, host, wire); err != nil {
		return nil, nil, err
	}
	return e, e, nil
}

// faulty is the wire to a device that may have a fault.
type faulty struct {
	*inproc.Link
	fault *inproc.Faulty // nil: none
}

func newFaulty(dev port.Device, fault inproc.Fault, host bus.Host, wire inproc.Options) (f faulty, err error) {
	if fault.Kind != 0 {
		f.fault = inproc.NewFaulty(dev, fault)
		dev = f.fault
	}
	f.Link, err = inproc.New(dev, host, wire)
	return f, err
}

// counters returns what the wire counts and what the fault has harmed.
func (f faulty) counters() []Counter {
	var harmed uint64
	f.Sample(func() {
		if f.fault != nil {
			harmed = f.fault.Harmed()
		}
	})
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
		{"harmed", harmed},
	}
}

func (o *values) config() gpu.Config {
	c, ok := configs(o.Get("config"))
	if !ok {
		o.bad("config", "default or small")
	}
	hz := uint64(c.ClockHz)
	o.integer("nodes", &c.Nodes, 1, cpreg.Nodes)
	o.bytes("vram", &c.VRAMBytes, 8<<10, 256<<20)
	o.integer("hostbits", &c.HostBits, 32, 62)
	o.integer("lengthbits", &c.LengthBits, 16, 32)
	o.integer("tags", &c.Tags, 2, 16)
	o.number("hz", &hz, 1, 1<<32-1)
	c.ClockHz = uint32(hz)
	return c
}

func (o *values) wire(c gpu.Config) inproc.Options {
	w := inproc.Options{Hz: uint64(c.ClockHz)}
	o.integer("latency", &w.Latency, 1, 65536)
	o.integer("bandwidth", &w.BytesPerClock, 1, 64)
	o.number("timeout", &w.Timeout, 1, 1<<40)
	return w
}

func (o *values) fault(c gpu.Config) inproc.Fault {
	f := inproc.Fault{}
	if !o.Has("fault") {
		for _, name := range []string{"after", "count"} {
			if o.Has(name) {
				o.bad(name, "a fault with it")
			}
		}
		return f
	}
	kind, ok := faultKinds(o.Get("fault"))
	if !ok {
		o.bad("fault", "lost-interrupt, lost-doorbell, dead or dead-request")
	}
	f.Kind = kind
	o.number("after", &f.After, 0, 1<<62)
	o.number("count", &f.Count, 1, 1<<62)
	for n := range c.Nodes {
		f.Doorbells = append(f.Doorbells, cpreg.Base+cpreg.Wptr+uint64(n)*cpreg.Stride)
	}
	return f
}

// emulated is the link to an emulated GPU.
type emulated struct {
	faulty
	gpu *gpu.GPU
}

// Counters returns what the GPU and the wire count.
func (e *emulated) Counters() []Counter {
	var g gpu.Stats
	e.Sample(func() { g = e.gpu.Stats() })
	return append([]Counter{
		{"packets_node0", uint64(g.Packets[0])},
		{"packets_node1", uint64(g.Packets[1])},
		{"bytes_moved", g.Moved},
	}, e.counters()...)
}
