package hal_test

import (
	"errors"
	"fmt"
	"strings"
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

// recorder is a link that logs its calls and can fail once.
type recorder struct {
	*inproc.Link
	calls  []string
	failAt int // call to fail, counted from 1; 0: none
	closed int
}

var errInjected = errors.New("injected")

func (r *recorder) record(format string, args ...any) error {
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
	if len(r.calls) == r.failAt {
		return errInjected
	}
	return nil
}

func (r *recorder) ReadConfig(off int) (uint32, error) {
	if err := r.record("read config %#x", off); err != nil {
		return 0, err
	}
	return r.Link.ReadConfig(off)
}

func (r *recorder) WriteConfig(off int, v uint32) error {
	if err := r.record("config %#x = %#x", off, v); err != nil {
		return err
	}
	return r.Link.WriteConfig(off, v)
}

func (r *recorder) Read(bar int, off uint64, p []byte) error {
	if err := r.record("read %d.%#x %d", bar, off, len(p)); err != nil {
		return err
	}
	return r.Link.Read(bar, off, p)
}

func (r *recorder) Write(bar int, off uint64, p []byte) error {
	if err := r.record("write %d.%#x %x", bar, off, p); err != nil {
		return err
	}
	return r.Link.Write(bar, off, p)
}

func (r *recorder) Close() error {
	r.closed++
	return r.Link.Close()
}

// wire connects m to a reference device.
func wire(t *testing.T, m *hal.Machine, opt bustest.DeviceOptions) *recorder {
	link, err := inproc.New(bustest.NewDevice(opt), m, inproc.Options{})
	require.NoError(t, err)
	return &recorder{Link: link}
}

// attach returns an enumerated reference device.
func attach(t *testing.T, opt bustest.DeviceOptions) (*hal.Machine, *hal.Device, *recorder, *ddi.Thread) {
	m, thread := hal.New(1<<20), new(ddi.Thread)
	r := wire(t, m, opt)
	d, err := m.Attach(thread, r, r)
	require.NoError(t, err)
	r.calls = nil
	return m, d, r, thread
}

// TestAttachSteps checks the order of enumeration: sizing with decode off,
// vectors programmed under the function mask, bus mastering enabled last.
func TestAttachSteps(t *testing.T) {
	m := hal.New(1 << 20)
	r := wire(t, m, bustest.DeviceOptions{})
	d, err := m.Attach(new(ddi.Thread), r, r)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"read config 0x0", "read config 0xc", "config 0x4 = 0x0",
		"config 0x10 = 0xffffffff", "read config 0x10", "config 0x10 = 0xe0000000", "read config 0x10",
		"config 0x14 = 0xffffffff", "read config 0x14",
		"config 0x18 = 0xffffffff", "read config 0x18", "config 0x1c = 0xffffffff", "read config 0x1c",
		"config 0x18 = 0x0", "read config 0x18", "config 0x1c = 0x1", "read config 0x1c",
		"config 0x20 = 0xffffffff", "read config 0x20",
		"config 0x24 = 0xffffffff", "read config 0x24",
		"read config 0x4", "read config 0x34", "read config 0x60", "read config 0x40",
		"config 0x4 = 0x402",
		"read config 0x40", "read config 0x44",
		"config 0x40 = 0xc0000000",
		"write 0.0x8000 0000e0fe000000000000000000000000", "read 0.0x8000 16",
		"write 0.0x8010 0000e0fe000000000100000000000000", "read 0.0x8010 16",
		"config 0x40 = 0x80000000",
		"config 0x4 = 0x406",
	}, r.calls)
	assert.Equal(t, hal.Info{VendorID: 0x1234, DeviceID: 0x4847, BARs: [6]uint64{0: 64 << 10, 2: 64 << 10}, Messages: 2}, d.Info())
	assert.Equal(t, r.Now(), d.Now())
	assert.Equal(t, r.Hz(), d.Hz())
}

// payloadLink is a link to a device with a given DevCap and DevCtl.
type payloadLink struct {
	*recorder
	payload int
	capable uint32
	control uint32
}

func (p *payloadLink) MaxPayload() int { return p.payload }

func (p *payloadLink) ReadConfig(off int) (uint32, error) {
	v, err := p.recorder.ReadConfig(off)
	switch off {
	case 0x64:
		v = p.capable
	case 0x68:
		v = p.control
	}
	return v, err
}

// TestAttachPayload: the smaller one of both payload sizes is set. No status bit is
// cleared, and nothing is written for a link that carries 128 bytes.
func TestAttachPayload(t *testing.T) {
	for _, tt := range []struct {
		link    int
		capable uint32
		want    string
	}{
		{128, 0x10000005, ""}, {4096, 0x10000005, "config 0x68 = 0x20a0"}, {4096, 0x10000002, "config 0x68 = 0x2040"},
		{1024, 0x10000005, "config 0x68 = 0x2060"}, {1024, 0x10000000, "config 0x68 = 0x2000"}, {64, 0x10000005, ""},
	} {
		m := hal.New(1 << 20)
		l := &payloadLink{recorder: wire(t, m, bustest.DeviceOptions{}), payload: tt.link, capable: tt.capable, control: 0x000f2080}
		_, err := m.Attach(new(ddi.Thread), l, l)
		require.NoError(t, err)
		var got string
		for _, c := range l.calls {
			if strings.HasPrefix(c, "config 0x68") {
				got += c
			}
		}
		assert.Equal(t, tt.want, got, "%+v", tt)
	}
}

// TestAttachWrong checks the enumeration errors of invalid devices.
func TestAttachWrong(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config map[int]uint32
		says   string
	}{
		{"no device", map[int]uint32{pcicfg.ID: 0xffffffff}, "no device: identity reads 0xffffffff"},
		{"all zero", map[int]uint32{pcicfg.ID: 0}, "no device: identity reads 0x00000000"},
		{"another vendor", map[int]uint32{pcicfg.ID: 0x48478086}, "device 8086:4847, want 1234:4847"},
		{"another device", map[int]uint32{pcicfg.ID: 0x11111234}, "device 1234:1111, want 1234:4847"},
		{"a bridge", map[int]uint32{pcicfg.Header: 1 << 16}, "header type 0x01, want 0"},
		{"an I/O BAR", map[int]uint32{pcicfg.BAR4: 0xffffff01}, "BAR 4 requests I/O space, want memory space: sizes as 0xffffff01"},
		{"a BAR below 1 MiB", map[int]uint32{pcicfg.BAR4: 0xfff00002}, "BAR 4 has an invalid type"},
		{"a wide BAR without a high half", map[int]uint32{pcicfg.BAR5: 0xfff00004}, "BAR 5 has an invalid type"},
		{"a size with a hole", map[int]uint32{pcicfg.BAR4: 0xf0f00000}, "BAR 4: size 0xf100000 is not a power of two"},
		{"a BAR with a fixed address", map[int]uint32{pcicfg.BAR4: 0xfffff000}, "BAR 4: reads 0xfffff000 after 0xe0010000 was written"},
		{"a BAR too large for 32 bits", map[int]uint32{pcicfg.BAR4: 0x80000000}, "BAR 4: no address space for 0x80000000 bytes"},
		{"no capability list", map[int]uint32{pcicfg.Command: 0}, "no capability list"},
		{"no MSI-X", map[int]uint32{pcicfg.CapPtr: 0}, "no MSI-X capability"},
		{"MSI-X not in the list", map[int]uint32{pcicfg.PCIe: 0x10}, "no MSI-X capability"},
		{"a circular capability list", map[int]uint32{pcicfg.PCIe: 0x6010}, "capability list does not end"},
		{"no register BAR", map[int]uint32{pcicfg.BAR0: 0}, "MSI-X table of 2 vectors at BAR 0 offset 0x8000 is outside"},
		{"table beyond the BAR", map[int]uint32{pcicfg.MSIXTable: 0xfff0}, "at BAR 0 offset 0xfff0 is outside"},
		{"table in no BAR", map[int]uint32{pcicfg.MSIXTable: 7}, "at BAR 7 offset 0x0 is outside"},
		{"an invalid table", map[int]uint32{pcicfg.MSIXTable: 0}, "MSI-X vector 0 reads "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := hal.New(1 << 20)
			r := wire(t, m, bustest.DeviceOptions{Config: tt.config})
			_, err := m.Attach(new(ddi.Thread), r, r)
			require.ErrorIs(t, err, hal.ErrEnumerate)
			assert.ErrorContains(t, err, tt.says)
			assert.Equal(t, tt.config[pcicfg.ID] != 0 || tt.name == "all zero", errors.Is(err, hal.ErrNoDevice))
			assert.Zero(t, r.closed)
		})
	}
}

// TestAttachLinkFails breaks the link at each step.
func TestAttachLinkFails(t *testing.T) {
	whole := func(failAt int) (*recorder, error) {
		m := hal.New(1 << 20)
		r := wire(t, m, bustest.DeviceOptions{})
		r.failAt = failAt
		_, err := m.Attach(new(ddi.Thread), r, r)
		return r, err
	}
	r, err := whole(0)
	require.NoError(t, err)
	steps := len(r.calls)
	for i := 1; i <= steps; i++ {
		r, err := whole(i)
		require.ErrorIs(t, err, errInjected, "step %d", i)
		v, err := r.Link.ReadConfig(pcicfg.Command)
		require.NoError(t, err)
		assert.Zero(t, v&(pcicfg.CommandMemory|pcicfg.CommandBusMaster), "step %d", i)
	}
}

// TestAttachTwo gives two devices different addresses.
func TestAttachTwo(t *testing.T) {
	m, thread := hal.New(1<<20), new(ddi.Thread)
	var at [2][2]uint32
	var got [2]int
	var dev [2]*hal.Device
	for i := range at {
		r := wire(t, m, bustest.DeviceOptions{})
		d, err := m.Attach(thread, r, r)
		require.NoError(t, err)
		at[i][0], err = d.ReadConfig(thread, pcicfg.BAR0)
		require.NoError(t, err)
		at[i][1], err = d.ReadConfig(thread, pcicfg.BAR2)
		require.NoError(t, err)
		d.SetInterrupt(func(*ddi.Thread, int) { got[i]++ }, nil)
		dev[i] = d
	}
	assert.Equal(t, [2][2]uint32{{0xe0000000, 0xc}, {0xe0010000, 0x1000c}}, at)
	require.NoError(t, dev[1].Write32(thread, 0, bustest.RegJob, bustest.JobNone))
	require.NoError(t, dev[1].Wait(thread, dev[1].Now()+1000))
	assert.Equal(t, [2]int{0, 1}, got)
}

// A device is refused if no message address is left for it: its interrupts
// would go to another device.
func TestAttachWithoutMessageAddress(t *testing.T) {
	m, thread := hal.New(1<<20), new(ddi.Thread)
	for i := range (hal.MessageEnd-hal.MessageBase)/4096 + 1 {
		r := wire(t, m, bustest.DeviceOptions{})
		d, err := m.Attach(thread, r, r.Link)
		if i == 256 {
			require.ErrorIs(t, err, hal.ErrEnumerate)
			require.Equal(t, []string{"config 0x4 = 0x0"}, r.calls)
			return
		}
		require.NoError(t, err)
		require.NoError(t, d.Detach(thread))
	}
	t.Error("every device has an address")
}

func TestAccess(t *testing.T) {
	_, d, _, thread := attach(t, bustest.DeviceOptions{})
	require.NoError(t, d.Write32(thread, 0, bustest.RegScratch, 0x12345678))
	v, err := d.Read32(thread, 0, bustest.RegScratch)
	require.NoError(t, err)
	assert.EqualValues(t, 0x12345678, v)
	want := []byte("eight by")
	require.NoError(t, d.Write(thread, 2, 16, want))
	got := make([]byte, 8)
	require.NoError(t, d.Read(thread, 2, 16, got))
	assert.Equal(t, want, got)
	require.NoError(t, d.WriteConfig(thread, pcicfg.IntLine, 0x77))
	v, err = d.ReadConfig(thread, pcicfg.IntLine)
	require.NoError(t, err)
	assert.EqualValues(t, 0x77, v)

	v, err = d.Read32(thread, 0, 0x2000)
	assert.ErrorIs(t, err, bus.ErrAbort)
	assert.Zero(t, v)
	assert.ErrorIs(t, d.Write32(thread, 0, 1, 0), bus.ErrArgument)
}

func TestAccessAllocatesNothing(t *testing.T) {
	m, thread := hal.New(1<<20), new(ddi.Thread)
	r := wire(t, m, bustest.DeviceOptions{})
	d, err := m.Attach(thread, zeroBAR2{r}, r)
	require.NoError(t, err)
	n := testing.AllocsPerRun(100, func() {
		_, _ = d.Read32(thread, 2, 0)
		_ = d.Write32(thread, 2, 0, 1)
	})
	assert.Zero(t, n)
}

// zeroBAR2 is a link whose BAR 2 takes no time and no memory.
type zeroBAR2 struct{ bus.Link }

func (l zeroBAR2) Read(bar int, off uint64, p []byte) error {
	if bar == 2 {
		clear(p)
		return nil
	}
	return l.Link.Read(bar, off, p)
}

func (l zeroBAR2) Write(bar int, off uint64, p []byte) error {
	if bar == 2 {
		return nil
	}
	return l.Link.Write(bar, off, p)
}

func TestDetach(t *testing.T) {
	m, d, r, thread := attach(t, bustest.DeviceOptions{})
	require.NoError(t, d.Detach(thread))
	require.NoError(t, d.Detach(thread))
	assert.Equal(t, 1, r.closed)
	assert.Equal(t, []string{"config 0x4 = 0x0", "config 0x40 = 0x0"}, r.calls)
	_, err := d.Read32(thread, 0, 0)
	assert.ErrorIs(t, err, bus.ErrClosed)
	assert.ErrorIs(t, m.WriteMem(hal.MessageBase, make([]byte, 4)), hal.ErrMessage)
}

func TestDetachDeadLink(t *testing.T) {
	_, d, r, thread := attach(t, bustest.DeviceOptions{})
	r.Break(errInjected)
	assert.ErrorIs(t, d.Detach(thread), bus.ErrLinkDown)
	assert.Equal(t, 1, r.closed)
}
