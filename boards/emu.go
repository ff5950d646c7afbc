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
		name: "emu", doc: "the GPU emulated cycle by cycle in this process", open: openEmulator,
		options: []option{
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
		},
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
	dev := port.Device(g)
	if fault.Kind != 0 {
		e.faulty = inproc.NewFaulty(g, fault)
		dev = e.faulty
	}
	if e.Link, err = inproc.New(dev, host, wire); err != nil {
		return nil, nil, err
	}
	return e, e, nil
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
	*inproc.Link
	gpu    *gpu.GPU
	faulty *inproc.Faulty
}

// Counters returns what the GPU and the wire count.
func (e *emulated) Counters() []Counter {
	var g gpu.Stats
	var harmed uint64
	e.Sample(func() {
		g = e.gpu.Stats()
		if e.faulty != nil {
			harmed = e.faulty.Harmed()
		}
	})
	s := e.Stats()
	return []Counter{
		{"packets_node0", uint64(g.Packets[0])},
		{"packets_node1", uint64(g.Packets[1])},
		{"bytes_moved", g.Moved},
		{"clocks", e.Now()},
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
