package hal_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// send sends message v as the device would.
func send(t *testing.T, m *hal.Machine, v byte) {
	require.NoError(t, m.WriteMem(hal.MessageBase, []byte{v, 0, 0, 0}))
}

// TestDelivery latches messages 0 and 1 at a level, delivers them, and lowers
// the level to PASSIVE_LEVEL.
func TestDelivery(t *testing.T) {
	isr0, isr1, dpc := "isr 0 at DIRQL", "isr 1 at DIRQL", "dpc at DISPATCH_LEVEL"
	if s := ddi.DIRQL.String(); s != "DIRQL" {
		t.Fatal(s)
	}
	for _, tt := range []struct {
		level         ddi.IRQL
		before, after []string
	}{
		{ddi.PassiveLevel, []string{isr0, isr1, dpc}, nil},
		{ddi.DispatchLevel, []string{isr0, isr1}, []string{dpc}},
		{ddi.DIRQL, nil, []string{isr0, isr1, dpc}},
	} {
		t.Run(tt.level.String(), func(t *testing.T) {
			m, d, _, thread := attach(t, bustest.DeviceOptions{})
			var got []string
			d.SetInterrupt(func(t *ddi.Thread, message int) {
				got = append(got, fmt.Sprintf("isr %d at %v", message, t.IRQL()))
				d.QueueDPC()
			}, func(t *ddi.Thread) {
				got = append(got, fmt.Sprintf("dpc at %v", t.IRQL()))
			})
			old := thread.Raise(tt.level)
			send(t, m, 0)
			send(t, m, 1)
			assert.Empty(t, got)
			d.Deliver(thread)
			assert.Equal(t, tt.before, got)
			assert.Equal(t, tt.level, thread.IRQL())
			got = nil
			d.Lower(thread, old)
			assert.Equal(t, tt.after, got)
			assert.Equal(t, ddi.PassiveLevel, thread.IRQL())
			assert.Equal(t, hal.Stats{Messages: 2, Interrupts: 2, DPCs: 1}, d.Stats())
		})
	}
}

// TestEveryAccessDelivers: each method with a thread parameter ends with the
// delivery of latched messages.
func TestEveryAccessDelivers(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(d *hal.Device, t *ddi.Thread) error
	}{
		{"Read", func(d *hal.Device, t *ddi.Thread) error { return d.Read(t, 2, 0, make([]byte, 4)) }},
		{"Write", func(d *hal.Device, t *ddi.Thread) error { return d.Write(t, 2, 0, make([]byte, 4)) }},
		{"Read32", func(d *hal.Device, t *ddi.Thread) error { _, err := d.Read32(t, 2, 0); return err }},
		{"Write32", func(d *hal.Device, t *ddi.Thread) error { return d.Write32(t, 2, 0, 0) }},
		{"ReadConfig", func(d *hal.Device, t *ddi.Thread) error { _, err := d.ReadConfig(t, 0); return err }},
		{"WriteConfig", func(d *hal.Device, t *ddi.Thread) error { return d.WriteConfig(t, 0x3c, 0) }},
		{"Wait", func(d *hal.Device, t *ddi.Thread) error { return d.Wait(t, d.Now()+1) }},
		{"Lower", func(d *hal.Device, t *ddi.Thread) error { d.Lower(t, t.IRQL()); return nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, d, _, thread := attach(t, bustest.DeviceOptions{})
			n := 0
			d.SetInterrupt(func(*ddi.Thread, int) { n++ }, nil)
			send(t, m, 0)
			require.NoError(t, tt.do(d, thread))
			assert.Equal(t, 1, n)
		})
	}
}

// TestDeviceInterrupt waits for a real message. The ISR reads the device.
func TestDeviceInterrupt(t *testing.T) {
	m, d, _, thread := attach(t, bustest.DeviceOptions{})
	pages, err := m.Alloc(hal.PageSize, 0)
	require.NoError(t, err)
	require.NoError(t, d.Write(thread, 2, 0, []byte("announce")))
	var seen []string
	var done uint32
	d.SetInterrupt(func(t *ddi.Thread, message int) {
		seen = append(seen, fmt.Sprintf("%d %s", message, pages.Bytes[:8]))
		done, err = d.Read32(t, 0, bustest.RegDone)
	}, nil)
	for _, w := range [][2]uint32{
		{bustest.RegHostLo, uint32(pages.Phys)}, {bustest.RegLen, 8}, {bustest.RegJob, bustest.JobWrite},
	} {
		require.NoError(t, d.Write32(thread, 0, uint64(w[0]), w[1]))
	}
	for deadline := d.Now() + 10000; len(seen) == 0 && d.Now() < deadline; {
		require.NoError(t, d.Wait(thread, deadline))
	}
	require.NoError(t, err)
	assert.Equal(t, []string{"0 announce"}, seen)
	assert.EqualValues(t, 1, done)
}

// TestNested: a message that arrives during the ISR is delivered after it, and
// one that arrives during the DPC is delivered inside it. A DPC queued by it
// runs again.
func TestNested(t *testing.T) {
	m, d, _, thread := attach(t, bustest.DeviceOptions{})
	var got []string
	rounds := 0
	d.SetInterrupt(func(th *ddi.Thread, message int) {
		got = append(got, fmt.Sprintf("isr %d", message))
		if message == 0 {
			send(t, m, 1)
			d.Deliver(th)
			got = append(got, "isr 0 ends")
		}
		d.QueueDPC()
	}, func(th *ddi.Thread) {
		got = append(got, "dpc")
		if rounds++; rounds == 1 {
			send(t, m, 1)
			d.Deliver(th)
			got = append(got, "dpc ends")
		}
	})
	send(t, m, 0)
	d.Deliver(thread)
	assert.Equal(t, []string{"isr 0", "isr 0 ends", "isr 1", "dpc", "isr 1", "dpc ends", "dpc"}, got)
}

func TestQueueDPC(t *testing.T) {
	_, d, _, thread := attach(t, bustest.DeviceOptions{})
	n := 0
	d.SetInterrupt(nil, func(*ddi.Thread) { n++ })
	assert.True(t, d.QueueDPC())
	assert.False(t, d.QueueDPC())
	d.Deliver(thread)
	assert.Equal(t, 1, n)
	assert.True(t, d.QueueDPC())
	d.Deliver(thread)
	assert.Equal(t, 2, n)
	d.Deliver(thread)
	assert.Equal(t, 2, n)
}

// TestMessages checks how the interrupt controller handles message writes.
func TestMessages(t *testing.T) {
	for _, tt := range []struct {
		name string
		addr uint64
		data []byte
		ok   bool
		want hal.Stats
	}{
		{"vector 0", 0xfee00000, []byte{0, 0, 0, 0}, true, hal.Stats{Messages: 1, Interrupts: 1}},
		{"vector 1", 0xfee00000, []byte{1, 0, 0, 0}, true, hal.Stats{Messages: 1, Interrupts: 1}},
		{"no such vector", 0xfee00000, []byte{2, 0, 0, 0}, true, hal.Stats{Spurious: 1}},
		{"no such device", 0xfee01000, []byte{0, 0, 0, 0}, false, hal.Stats{}},
		{"end of the window", 0xfeefffff, []byte{0}, false, hal.Stats{}},
		{"not a dword", 0xfee00000, []byte{0, 0}, false, hal.Stats{}},
		{"not the address", 0xfee00004, []byte{0, 0, 0, 0}, false, hal.Stats{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, d, _, thread := attach(t, bustest.DeviceOptions{})
			d.SetInterrupt(func(*ddi.Thread, int) {}, nil)
			err := m.WriteMem(tt.addr, tt.data)
			if tt.ok {
				assert.NoError(t, err)
			} else {
				assert.ErrorIs(t, err, hal.ErrMessage)
			}
			d.Deliver(thread)
			assert.Equal(t, tt.want, d.Stats())
		})
	}
}

// TestNothingIsLost: the vectors of messages stay pending for an ISR that is set
// later. Each is delivered once, in the order of its first message.
func TestNothingIsLost(t *testing.T) {
	m, d, _, thread := attach(t, bustest.DeviceOptions{})
	var got []int
	for _, v := range []byte{1, 0, 0, 1} {
		send(t, m, v)
	}
	d.Deliver(thread)
	d.SetInterrupt(func(_ *ddi.Thread, message int) { got = append(got, message) }, nil)
	d.Deliver(thread)
	assert.Equal(t, []int{1, 0}, got)
	assert.Equal(t, hal.Stats{Messages: 4, Merged: 2, Interrupts: 2}, d.Stats())
	send(t, m, 1)
	d.SetInterrupt(nil, nil)
	d.Deliver(thread)
	assert.Len(t, got, 2)
}

// TestStorm: messages that arrive in each call of the ISR keep no call for ever. A
// message is never lost, and a wait ends at its deadline.
func TestStorm(t *testing.T) {
	m, d, _, thread := attach(t, bustest.DeviceOptions{})
	calls, storm := 0, true
	d.SetInterrupt(func(*ddi.Thread, int) {
		if calls++; storm {
			send(t, m, 0)
		}
		d.QueueDPC()
	}, func(*ddi.Thread) {})
	send(t, m, 0)
	d.Deliver(thread)
	assert.Equal(t, 64, calls)
	assert.EqualValues(t, 1, d.Stats().Storms)

	deadline := d.Now() + 1000
	waits := 0
	for ; d.Now() < deadline; waits++ {
		require.NoError(t, d.Wait(thread, deadline))
	}
	assert.LessOrEqual(t, waits, 1000)

	storm = false
	before := calls
	d.Deliver(thread)
	assert.Equal(t, before+1, calls, "the last message")
	assert.Equal(t, d.Stats().Messages, d.Stats().Interrupts, "none was lost, and none merged")
}

// TestUnwind: an ISR or DPC that unwinds restores the IRQL and can be called
// again.
func TestUnwind(t *testing.T) {
	m, d, _, thread := attach(t, bustest.DeviceOptions{})
	fail, n := true, 0
	work := func() {
		if n++; fail {
			panic("bugcheck")
		}
	}
	d.SetInterrupt(func(*ddi.Thread, int) { work() }, func(*ddi.Thread) { work() })
	send(t, m, 0)
	assert.Panics(t, func() { d.Deliver(thread) })
	d.QueueDPC()
	assert.Panics(t, func() { d.Deliver(thread) })
	assert.Equal(t, ddi.PassiveLevel, thread.IRQL())
	fail = false
	send(t, m, 0)
	d.QueueDPC()
	d.Deliver(thread)
	assert.Equal(t, 4, n)
}

// TestOneAtATime: four threads deliver messages latched by four others. The ISR
// and the DPC never run concurrently with themselves, and each message is delivered
// or merges with one that is.
func TestOneAtATime(t *testing.T) {
	m, d, _, _ := attach(t, bustest.DeviceOptions{})
	var mu sync.Mutex
	isrs := 0 // written only by the ISR, to be checked by the race detector
	dpcs := 0
	d.SetInterrupt(func(*ddi.Thread, int) { isrs++; d.QueueDPC() }, func(*ddi.Thread) { dpcs++ })
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			thread := new(ddi.Thread)
			for range 200 {
				mu.Lock()
				err := m.WriteMem(hal.MessageBase, make([]byte, 4))
				mu.Unlock()
				assert.NoError(t, err)
				d.Deliver(thread)
			}
		})
	}
	wg.Wait()
	d.Deliver(new(ddi.Thread))
	s := d.Stats()
	assert.EqualValues(t, 800, s.Messages)
	assert.EqualValues(t, 800, s.Interrupts+s.Merged)
	assert.EqualValues(t, isrs, s.Interrupts)
	assert.EqualValues(t, dpcs, s.DPCs)
}

// Held messages are latched, and the next Deliver after the end delivers them.
func TestHold(t *testing.T) {
	m, d, _, thread := attach(t, bustest.DeviceOptions{})
	interrupts := 0
	d.SetInterrupt(func(*ddi.Thread, int) { interrupts++ }, nil)
	d.Hold(true)
	send(t, m, 0)
	d.Deliver(thread)
	before := d.Now()
	require.NoError(t, d.Wait(thread, before+100))
	assert.Equal(t, before+100, d.Now(), "Wait lets time pass")
	assert.Zero(t, interrupts)
	d.Hold(false)
	d.Deliver(thread)
	assert.Equal(t, 1, interrupts)
}
