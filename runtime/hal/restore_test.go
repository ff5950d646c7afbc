package hal_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// cable is a link that goes down at a given call and can be restarted with the
// device plugged in.
type cable struct {
	*inproc.Link
	calls   int
	failAt  int // call at which the link goes down, counted from 1; 0: none
	down    error
	refuse  error // error of Reopen
	reopens int
}

func (c *cable) call() error {
	if c.calls++; c.calls == c.failAt && c.down == nil {
		c.down = fmt.Errorf("%w: unplugged", bus.ErrLinkDown)
	}
	return c.down
}

func (c *cable) ReadConfig(off int) (uint32, error) {
	if err := c.call(); err != nil {
		return 0, err
	}
	return c.Link.ReadConfig(off)
}

func (c *cable) WriteConfig(off int, v uint32) error {
	if err := c.call(); err != nil {
		return err
	}
	return c.Link.WriteConfig(off, v)
}

func (c *cable) Read(bar int, off uint64, p []byte) error {
	if err := c.call(); err != nil {
		return err
	}
	return c.Link.Read(bar, off, p)
}

func (c *cable) Write(bar int, off uint64, p []byte) error {
	if err := c.call(); err != nil {
		return err
	}
	return c.Link.Write(bar, off, p)
}

func (c *cable) Wait(deadline uint64) (bool, error) {
	if err := c.call(); err != nil {
		return false, err
	}
	return c.Link.Wait(deadline)
}

func (c *cable) Reopen() error {
	c.reopens++
	if c.refuse == nil {
		c.down = nil
	}
	return c.refuse
}

// plug connects a device that was just powered on.
func (c *cable) plug(t *testing.T, m *hal.Machine, opt bustest.DeviceOptions) {
	t.Helper()
	link, err := inproc.New(bustest.NewDevice(opt), m, inproc.Options{})
	require.NoError(t, err)
	c.Link = link
}

func cabled(t *testing.T) (*hal.Machine, *hal.Device, *cable, *ddi.Thread) {
	t.Helper()
	m, thread, c := hal.New(1<<20), new(ddi.Thread), new(cable)
	c.plug(t, m, bustest.DeviceOptions{})
	d, err := m.Attach(thread, c, c)
	require.NoError(t, err)
	c.calls = 0
	return m, d, c, thread
}

// config returns the BARs, command register and MSI-X control in configuration
// space.
func config(t *testing.T, c *cable) (out []uint32) {
	t.Helper()
	for _, off := range []int{pcicfg.Command, pcicfg.BAR0, pcicfg.BAR0 + 8, pcicfg.BAR0 + 12, pcicfg.MSIX} {
		v, err := c.Link.ReadConfig(off)
		require.NoError(t, err)
		out = append(out, v)
	}
	return out
}

// Every access and every wait on a link that is down is noticed. The first
// error is kept, and other errors are ignored.
func TestDown(t *testing.T) {
	for name, access := range map[string]func(d *hal.Device, th *ddi.Thread) error{
		"read":         func(d *hal.Device, th *ddi.Thread) error { return d.Read(th, 0, 0, make([]byte, 8)) },
		"write":        func(d *hal.Device, th *ddi.Thread) error { return d.Write(th, 0, 0, make([]byte, 8)) },
		"read32":       func(d *hal.Device, th *ddi.Thread) error { _, err := d.Read32(th, 0, 0); return err },
		"write32":      func(d *hal.Device, th *ddi.Thread) error { return d.Write32(th, 0, 0, 1) },
		"read config":  func(d *hal.Device, th *ddi.Thread) error { _, err := d.ReadConfig(th, 0); return err },
		"write config": func(d *hal.Device, th *ddi.Thread) error { return d.WriteConfig(th, 0, 0) },
		"wait":         func(d *hal.Device, th *ddi.Thread) error { return d.Wait(th, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			_, d, c, thread := cabled(t)
			c.down = bus.ErrTimeout
			require.ErrorIs(t, access(d, thread), bus.ErrTimeout)
			assert.NoError(t, d.Down())
			c.down, c.failAt = nil, c.calls+1
			err := access(d, thread)
			require.ErrorIs(t, err, bus.ErrLinkDown)
			assert.Equal(t, err, d.Down())
			c.down = bus.ErrLinkDown
			require.Error(t, access(d, thread))
			assert.Equal(t, err, d.Down(), "the first one")
			require.NoError(t, d.Restore(thread))
			assert.NoError(t, d.Down())
			assert.Equal(t, 1, c.reopens)
		})
	}
}

// After Restore a device has its earlier addresses, whether it lost power or
// kept its state. New interrupts arrive; earlier ones do not.
func TestRestore(t *testing.T) {
	for _, fresh := range []bool{true, false} {
		m, d, c, thread := cabled(t)
		before, info := config(t, c), d.Info()
		var seen []int
		d.SetInterrupt(func(_ *ddi.Thread, message int) { seen = append(seen, message) }, func(*ddi.Thread) { seen = append(seen, -1) })
		old := thread.Raise(ddi.DIRQL)
		require.NoError(t, m.WriteMem(hal.MessageBase, []byte{1, 0, 0, 0}))
		d.QueueDPC()
		c.down = bus.ErrLinkDown
		require.Error(t, d.Write32(thread, 0, 0, 1))
		if fresh {
			c.plug(t, m, bustest.DeviceOptions{})
		}
		thread.Lower(old)
		require.NoError(t, d.Restore(thread))
		d.Deliver(thread)
		assert.Empty(t, seen)
		assert.Equal(t, before, config(t, c))
		assert.Equal(t, info, d.Info())
		require.NoError(t, m.WriteMem(hal.MessageBase, []byte{1, 0, 0, 0}))
		d.Deliver(thread)
		assert.Equal(t, []int{1}, seen)
	}
}

// Restore also works if the link is up, and if the link is down but unnoticed.
func TestRestoreWorkingLink(t *testing.T) {
	_, d, c, thread := cabled(t)
	before := config(t, c)
	require.NoError(t, d.Restore(thread))
	assert.Zero(t, c.reopens)
	c.down = bus.ErrLinkDown
	require.NoError(t, d.Restore(thread))
	assert.Equal(t, 1, c.reopens)
	assert.Equal(t, before, config(t, c))
}

// If the link goes down at any call of Restore, Restore fails, and succeeds the
// next time.
func TestRestoreInterrupted(t *testing.T) {
	for n := 1; ; n++ {
		_, d, c, thread := cabled(t)
		before := config(t, c)
		c.down = bus.ErrLinkDown
		require.Error(t, d.Wait(thread, 0))
		c.calls, c.failAt = 0, n
		err := d.Restore(thread)
		if err == nil {
			assert.Greater(t, n, 30, "calls of an enumeration")
			break
		}
		require.ErrorIs(t, err, bus.ErrLinkDown, "call %d", n)
		require.ErrorIs(t, d.Down(), bus.ErrLinkDown, "call %d", n)
		require.NoError(t, d.Restore(thread), "call %d", n)
		assert.Equal(t, before, config(t, c), "call %d", n)
	}
}

// The device may be missing or a different one.
func TestRestoreFails(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config map[int]uint32
		says   string
	}{
		{"no device", map[int]uint32{pcicfg.ID: 0xffffffff}, "no device"},
		{"another device", map[int]uint32{pcicfg.ID: 0x11111234}, "device 1234:1111"},
		{"a smaller BAR", map[int]uint32{pcicfg.BAR2: 0xffff800c}, "BAR 2 has 0x8000 bytes, want 0x10000 as before"},
		{"one BAR more", map[int]uint32{pcicfg.BAR4: 0xfffff000}, "BAR 4 has 0x1000 bytes, want 0x0 as before"},
		{"one BAR less", map[int]uint32{pcicfg.BAR2: 0, pcicfg.BAR2 + 4: 0}, "as before"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, d, c, thread := cabled(t)
			before, info := config(t, c), d.Info()
			c.down = bus.ErrLinkDown
			require.Error(t, d.Wait(thread, 0))
			c.plug(t, m, bustest.DeviceOptions{Config: tt.config})
			err := d.Restore(thread)
			require.ErrorIs(t, err, hal.ErrEnumerate)
			assert.ErrorContains(t, err, tt.says)
			v, err := c.Link.ReadConfig(pcicfg.Command)
			require.NoError(t, err)
			assert.Zero(t, v&(pcicfg.CommandMemory|pcicfg.CommandBusMaster))
			assert.Equal(t, info, d.Info())
			c.plug(t, m, bustest.DeviceOptions{})
			require.NoError(t, d.Restore(thread))
			assert.Equal(t, before, config(t, c))
		})
	}
	_, d, c, thread := cabled(t)
	c.down, c.refuse = bus.ErrLinkDown, fmt.Errorf("%w: no peer", bus.ErrLinkDown)
	require.Error(t, d.Wait(thread, 0))
	c.calls = 0
	assert.ErrorIs(t, d.Restore(thread), c.refuse)
	assert.Zero(t, c.calls, "nothing is accessed")
	assert.ErrorIs(t, d.Down(), bus.ErrLinkDown)

	link, err := inproc.New(bustest.NewDevice(bustest.DeviceOptions{}), hal.New(0), inproc.Options{})
	require.NoError(t, err)
	fixed := &permanentFailure{Link: link}
	d, err = hal.New(1<<20).Attach(thread, fixed, link)
	require.NoError(t, err)
	fixed.down = bus.ErrLinkDown
	err = d.Restore(thread)
	assert.ErrorIs(t, err, bus.ErrLinkDown)
	assert.ErrorContains(t, err, "cannot be restarted")
}

// permanentFailure is a link that cannot be restarted.
type permanentFailure struct {
	*inproc.Link
	down error
}

func (o *permanentFailure) ReadConfig(off int) (uint32, error) {
	if o.down != nil {
		return 0, o.down
	}
	return o.Link.ReadConfig(off)
}

func (o *permanentFailure) WriteConfig(off int, v uint32) error {
	if o.down != nil {
		return o.down
	}
	return o.Link.WriteConfig(off, v)
}
