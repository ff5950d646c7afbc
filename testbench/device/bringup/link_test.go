package bringup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/testbench/device/bringup"
)

// A spy is a link whose accesses a test observes or changes.
type spy struct {
	bus.Link
	bus.Clock
	config func(off int, v uint32, err error) (uint32, error)
	read   func(bar int, off uint64, p []byte, err error) error
	write  func(bar int, off uint64, p []byte)
}

func (s *spy) ReadConfig(off int) (uint32, error) {
	v, err := s.Link.ReadConfig(off)
	if s.config != nil {
		return s.config(off, v, err)
	}
	return v, err
}

func (s *spy) Read(bar int, off uint64, p []byte) error {
	err := s.Link.Read(bar, off, p)
	if s.read != nil {
		return s.read(bar, off, p, err)
	}
	return err
}

func (s *spy) Write(bar int, off uint64, p []byte) error {
	if s.write != nil {
		p = bytes.Clone(p)
		s.write(bar, off, p)
	}
	return s.Link.Write(bar, off, p)
}

// over opens the board and wraps its link in s.
func (s *spy) over(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
	link, clock, err := boards.Open(selector, host)
	s.Link, s.Clock = link, clock
	return s, clock, err
}

// A board that cannot be opened, does not answer, or answers like an undriven line
// fails the link stage with the cause.
func TestLinkFails(t *testing.T) {
	unplugged := fmt.Errorf("%w: unplugged", bus.ErrLinkDown)
	timeout := fmt.Errorf("%w: no device", bus.ErrTimeout)
	for _, tt := range []struct {
		name  string
		open  bringup.Opener
		cause error
		text  string
	}{
		{"no port", func(string, bus.Host) (bus.Link, bus.Clock, error) { return nil, nil, errors.New("no such port") }, nil, "no such port"},
		{"mute", (&spy{config: func(int, uint32, error) (uint32, error) { return 0, timeout }}).over, bus.ErrTimeout, "no device"},
		{"down", (&spy{config: func(int, uint32, error) (uint32, error) { return 0, unplugged }}).over, bus.ErrLinkDown, "unplugged"},
		{"ones", (&spy{config: func(int, uint32, error) (uint32, error) { return 0xffffffff, nil }}).over, nil, "the identity reads 0xffffffff"},
	} {
		r := run(t, bringup.Options{Open: tt.open})
		assert.True(t, r.LinkFailed(), tt.name)
		assert.Equal(t, []string{"link.trips"}, failures(r), tt.name)
		assert.Contains(t, r.Results[0].Line(), tt.text)
		assert.Equal(t, len(bringup.Stages())-1, r.Skipped, tt.name)
		if tt.cause != nil {
			assert.ErrorIs(t, r.Cause(), tt.cause, tt.name)
		}
	}
	n := uint32(0)
	r := run(t, bringup.Options{Open: (&spy{config: func(off int, v uint32, err error) (uint32, error) {
		n++
		return v ^ n>>5&1, err
	}}).over})
	assert.Contains(t, r.Results[0].Details[0], "read 31 of the identity is 0x48471235, the first was 0x48471234")
}

// A link that goes down in a later stage ends the run with its cause.
func TestLinkGoesDown(t *testing.T) {
	unplugged := fmt.Errorf("%w: unplugged", bus.ErrLinkDown)
	r := run(t, bringup.Options{Board: "emu?config=small", Open: (&spy{read: func(bar int, _ uint64, _ []byte, err error) error {
		if bar == 2 {
			return unplugged
		}
		return err
	}}).over})
	assert.True(t, r.LinkFailed())
	assert.ErrorIs(t, r.Cause(), bus.ErrLinkDown)
	assert.Equal(t, "config.command", failures(r)[0], "the first stage that reads BAR 2")
}

// Cancelling ends the run, and the board's configuration is still restored.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &spy{}
	s.read = func(bar int, _ uint64, _ []byte, err error) error {
		if bar == 2 {
			cancel()
		}
		return err
	}
	var command uint32
	open := func(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
		link, clock, err := s.over(selector, host)
		return &closing{Link: link, last: func() { command, _ = s.Link.ReadConfig(pcicfg.Command) }}, clock, err
	}
	var failed []string
	progress := func(r bringup.Result) {
		if r.Status == bringup.Fail {
			failed = append(failed, r.Stage)
		}
	}
	_, err := bringup.Run(ctx, bringup.Options{Board: "emu?config=small", Open: open, Progress: progress})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, failed, "the board is not to blame")
	assert.Zero(t, command&0xffff, "the device is not left enabled")
}

// closing reads the device before the link is closed.
type closing struct {
	bus.Link
	last func()
}

func (c *closing) Close() error {
	c.last()
	return c.Link.Close()
}

// A tamper is a host that changes the device's accesses as a faulty board would,
// and passes them to bring-up's host.
type tamper struct {
	bus.Host
	read  func(h bus.Host, addr uint64, p []byte) error
	write func(h bus.Host, addr uint64, p []byte) error
}

func (h *tamper) ReadMem(addr uint64, p []byte) error {
	if h.read != nil {
		return h.read(h.Host, addr, p)
	}
	return h.Host.ReadMem(addr, p)
}

func (h *tamper) WriteMem(addr uint64, p []byte) error {
	if h.write != nil {
		return h.write(h.Host, addr, p)
	}
	return h.Host.WriteMem(addr, p)
}

// Offsets in bring-up's host memory.
const (
	fences   = 0x110000 // the fence
	sources  = 0x120000 // sources of the copies within host memory
	targets  = 0x130000 // destinations of the copies before fences
	copies   = 0x180000 // start of the DMA stage's data
	messages = 0xfee00000
)

// Faults between the device and host memory fail the stages that use that path.
func TestHostPath(t *testing.T) {
	isMessage := func(addr uint64) bool { return addr >= messages && addr < messages+1<<20 }
	var held []func() error
	for _, tt := range []struct {
		name  string
		host  tamper
		stage string
		text  string
	}{
		{"a read loses a bit", tamper{read: func(h bus.Host, addr uint64, p []byte) error {
			err := h.ReadMem(addr, p)
			if addr >= copies {
				p[0] ^= 0x10
			}
			return err
		}}, "dma.copy", "1 B, host 0xc to VRAM 0x9: byte 0 is"},
		{"reads are refused", tamper{read: func(h bus.Host, addr uint64, p []byte) error {
			return errors.New("no memory")
		}}, "cp.start", "FAULT_INFO=0xa (CAUSE=READ_ERROR)"},
		{"writes are dropped", tamper{write: func(h bus.Host, addr uint64, p []byte) error {
			if addr >= sources && addr < copies {
				return nil
			}
			return h.WriteMem(addr, p)
		}}, "ring.wrap", "did not move its data"},
		{"data after its fence", tamper{write: func(h bus.Host, addr uint64, p []byte) error {
			if addr >= targets && addr < copies {
				data := bytes.Clone(p)
				held = append(held, func() error { return h.WriteMem(addr, data) })
				return nil
			}
			err := h.WriteMem(addr, p)
			if addr == fences {
				for _, write := range held {
					err = errors.Join(err, write())
				}
				held = nil
			}
			return err
		}}, "fence.order", "fence 1 arrived before the data of its copy"},
		{"a message twice", tamper{write: func(h bus.Host, addr uint64, p []byte) error {
			err := h.WriteMem(addr, p)
			if isMessage(addr) {
				err = errors.Join(err, h.WriteMem(addr, p))
			}
			return err
		}}, "irq.message", "DONE0, INTC.MASK: 2 messages for one event"},
		{"a message of another vector", tamper{write: func(h bus.Host, addr uint64, p []byte) error {
			if isMessage(addr) {
				addr ^= 0x10
			}
			return h.WriteMem(addr, p)
		}}, "irq.message", "at 0xfee01010, want 4 bytes"},
	} {
		host := tt.host
		r := run(t, bringup.Options{Board: "emu?config=small", Open: func(selector string, h bus.Host) (bus.Link, bus.Clock, error) {
			host.Host = h
			return boards.Open(selector, &host)
		}})
		require.NotEmpty(t, failures(r), tt.name)
		assert.Equal(t, tt.stage, failures(r)[0], "%s:\n%s", tt.name, text(r))
		assert.Contains(t, result(t, r, tt.stage).Line(), tt.text, tt.name)
	}
}

// Masks that do not mask are found.
func TestMasks(t *testing.T) {
	for _, tt := range []struct {
		off  uint64
		low  byte // the low byte that is written instead
		text string
	}{
		{intcreg.Base + intcreg.Mask, intcreg.Done0, "DONE0: 1 messages passed INTC.MASK"},
		{msixreg.Base + msixreg.Control, 0, "DONE0: 1 messages passed MSIX.CONTROL0.MASK"},
	} {
		s := &spy{write: func(bar int, off uint64, p []byte) {
			if bar == 0 && off == tt.off {
				p[0] = tt.low
			}
		}}
		r := run(t, bringup.Options{Board: "emu?config=small", Open: s.over, Only: []string{"irq"}})
		assert.Contains(t, r.Results[0].Line(), tt.text)
	}
}

// frozen is a clock that does not run.
type frozen struct{ bus.Clock }

func (frozen) Now() uint64 { return 5 }

func (frozen) Wait(uint64) (bool, error) { return false, nil }

// A stopped clock ends a wait.
func TestClockStopped(t *testing.T) {
	r := run(t, bringup.Options{Board: "emu?config=small", Only: []string{"irq.message"}, Open: func(selector string, h bus.Host) (bus.Link, bus.Clock, error) {
		link, clock, err := boards.Open(selector, h)
		return link, frozen{clock}, err
	}})
	assert.Equal(t, "bare: the clock of the board does not run", r.Results[0].Error)
}

// A counting link counts an error with each read of configuration space.
type counting struct {
	spy
	name string
	n    uint64
}

func (c *counting) Counters() []boards.Counter {
	return []boards.Counter{{Name: c.name, Value: 7 + c.n}, {Name: "messages", Value: c.n}}
}

// Recovered link errors are reported and fail no stage. Frames that are only repeated have a note.
func TestLinkErrors(t *testing.T) {
	for name, note := range map[string]string{"frames_damaged": "", "frames_repeated": "; the host saw none damaged, and link.errors has those that the board refused. A board with a window of two also asks again for a frame after a request that waits"} {
		linkErrors(t, name, note)
	}
}

func linkErrors(t *testing.T, name, note string) {
	c := &counting{name: name}
	c.config = func(_ int, v uint32, err error) (uint32, error) {
		c.n++
		return v, err
	}
	r := run(t, bringup.Options{Only: []string{"link.trips"}, Open: func(selector string, h bus.Host) (bus.Link, bus.Clock, error) {
		_, clock, err := c.over(selector, h)
		return c, clock, err
	}})
	assert.True(t, r.OK())
	assert.Equal(t, []bringup.Count{{Name: name, Count: 64}}, r.LinkErrors)
	assert.Contains(t, text(r), "link           recovered from "+name+" 64"+note+"\n")
}
