package bustest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/inproc"
)

func fixture(t *testing.T, opt inproc.Options, dev DeviceOptions) Fixture {
	d, host := NewDevice(dev), NewHost(1<<16)
	link, err := inproc.New(d, host, opt)
	require.NoError(t, err)
	f := DeviceFixture(link, link, host, d)
	f.Kill = func() { link.Break(errors.New("unplugged")) }
	return f
}

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name string
		opt  inproc.Options
		dev  DeviceOptions
	}{
		{"default", inproc.Options{}, DeviceOptions{}},
		{"shortest", inproc.Options{Latency: 1, BytesPerClock: 64}, DeviceOptions{}},
		{"far", inproc.Options{Latency: 300}, DeviceOptions{}},
		{"narrow", inproc.Options{BytesPerClock: 1}, DeviceOptions{}},
		{"odd", inproc.Options{BytesPerClock: 11, Latency: 3}, DeviceOptions{Stall: 3}},
		{"one tag", inproc.Options{Tags: 1}, DeviceOptions{Stall: 1}},
		{"many tags", inproc.Options{Tags: 64}, DeviceOptions{Stall: 2}},
		{"smallest memory", inproc.Options{}, DeviceOptions{MemBytes: 4096}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			Run(t, func(t *testing.T) Fixture { return fixture(t, tt.opt, tt.dev) })
		})
	}
}

// A cheat is a link that breaks one rule on purpose.
type cheat struct {
	bus.Link
	bus.Clock
	rule string

	mu    sync.Mutex
	stale []byte
	first bool // an error was returned before
}

func (c *cheat) seen(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.first
	c.first = before || err != nil
	return before
}

func (c *cheat) ReadConfig(off int) (uint32, error) {
	if c.rule == "unchecked configuration" && off%4 != 0 {
		return 0, nil
	}
	v, err := c.Link.ReadConfig(off)
	before := c.seen(err)
	switch {
	case c.rule == "configuration" && err == nil:
		return v ^ 1, nil
	case c.rule == "size" && off == 0x18:
		return v | 0x10, err
	case c.rule == "invented configuration" && err != nil:
		return 0, nil
	case c.rule == "forgets its cause" && err != nil && before:
		return v, fmt.Errorf("%w: another", bus.ErrLinkDown)
	}
	return v, err
}

func (c *cheat) Read(bar int, off uint64, p []byte) error {
	switch {
	case c.rule == "reads before writes" && bar == 0 && len(p) == 4 && c.stale != nil:
		copy(p, c.stale)
		return nil
	case c.rule == "sends bad arguments" && off%4 != 0:
		_, _ = c.Link.ReadConfig(0)
	}
	err := c.Link.Read(bar, off, p)
	switch {
	case c.rule == "invented data":
		return nil
	case c.rule == "no abort" && errors.Is(err, bus.ErrAbort):
		return bus.ErrUnsupported
	case c.rule == "short" && len(p) > 128:
		p[len(p)-1] ^= 1
	}
	c.seen(err)
	return err
}

func (c *cheat) Write(bar int, off uint64, p []byte) error {
	c.mu.Lock()
	c.stale = make([]byte, 4)
	c.mu.Unlock()
	return c.Link.Write(bar, off, p)
}

func (c *cheat) Close() error {
	if c.rule == "close" {
		return nil
	}
	return c.Link.Close()
}

func (c *cheat) Wait(deadline uint64) (bool, error) {
	switch c.rule {
	case "event without message":
		return true, nil
	case "no event":
		_, err := c.Clock.Wait(deadline)
		if err == nil {
			_, err = c.Clock.Wait(deadline)
		}
		return false, err
	}
	return c.Clock.Wait(deadline)
}

func (c *cheat) Now() uint64 {
	if c.rule == "time stops" {
		return 0
	}
	return c.Clock.Now()
}

// TestCasesCatch runs each case on a link that breaks its rule, and on one that
// does not.
func TestCasesCatch(t *testing.T) {
	rules := map[string]string{
		"configuration space can be read and written":     "configuration",
		"BARs can be sized":                               "size",
		"a read sees the writes before it":                "reads before writes",
		"any range of memory reads as written":            "short",
		"bad arguments are refused and not sent":          "sends bad arguments",
		"an access with memory decode off is unsupported": "invented data",
		"an access beyond the BARs is unsupported":        "invented data",
		"an unmapped register aborts":                     "no abort",
		"the access after an error succeeds":              "short",
		"a message arrives after its data":                "early message",
		"a message ends a wait":                           "no event",
		"a wait ends at its deadline":                     "event without message",
		"time passes and does not go backwards":           "time stops",
		"concurrent goroutines do not interfere":          "short",
		"close is idempotent and final":                   "close",
		"a dead link stays dead":                          "forgets its cause",
	}
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			rule, ok := rules[c.name]
			require.True(t, ok)
			f := fixture(t, inproc.Options{}, DeviceOptions{})
			assert.NoError(t, c.check(f))
			f = fixture(t, inproc.Options{}, DeviceOptions{})
			x := &cheat{Link: f.Link, Clock: f.Clock, rule: rule}
			f.Link, f.Clock = x, x
			if rule == "early message" {
				f.Announce = func(bus.Link, uint64) ([]byte, error) {
					return []byte{1}, f.Host.WriteMem(MessageBase, make([]byte, 4))
				}
			}
			assert.Error(t, c.check(f))
		})
	}
	assert.Len(t, cases(), len(rules))
}

func TestCasesCatchMore(t *testing.T) {
	for _, tt := range []struct{ name, rule string }{
		{"bad arguments are refused and not sent", "unchecked configuration"},
		{"close is idempotent and final", "invented configuration"},
		{"an unmapped register aborts", "invented data"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			for _, c := range cases() {
				if c.name != tt.name {
					continue
				}
				f := fixture(t, inproc.Options{}, DeviceOptions{})
				x := &cheat{Link: f.Link, Clock: f.Clock, rule: tt.rule}
				f.Link, f.Clock = x, x
				assert.Error(t, c.check(f))
			}
		})
	}
}
