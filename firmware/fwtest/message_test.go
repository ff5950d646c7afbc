package fwtest

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/firmware/message"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

// area is the GPU address of the message area of the tests.
const area = 1<<63 | 0x12_3456_0000

// withArea returns options with a message area at a GPU address.
func withArea(base uint64) firmware.Options {
	o := options()
	o.Blocks |= 1 << (intcreg.Base / mcureg.BlockBytes)
	o.Windows[fwabi.WindowMessages] = firmware.Window{Base: base, Bytes: fwabi.AreaBytes, Write: true}
	return o
}

// serving returns a machine whose program serves messages with rings of 2^rings entries.
func serving(t *testing.T, m machine, rings uint32) *message.Client {
	t.Helper()
	require.NoError(t, message.Init(m.At(area), rings))
	_, err := firmware.Load(m, firmware.Default(), withArea(area))
	require.NoError(t, err)
	c, err := message.Open(m, m.At(area), message.Options{Polls: 1000})
	require.NoError(t, err)
	return c
}

// asleep reports whether the program sleeps within some reads.
func asleep(t *testing.T, r firmware.Registers) bool {
	t.Helper()
	for range 50 {
		v, err := r.Read(mcureg.Base + mcureg.Status)
		require.NoError(t, err)
		if v == mcureg.StatusAsleep {
			return true
		}
	}
	return false
}

// counts returns the words of COUNTERS.
func counts(t *testing.T, c *message.Client) (words [fwabi.Counts]uint32) {
	t.Helper()
	_, answer, err := c.Call(fwabi.OpCounters, nil)
	require.NoError(t, err)
	require.Len(t, answer, 4*fwabi.Counts)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(answer[4*i:])
	}
	return words
}

// The image serves messages, with rings of each size.
func TestMessages(t *testing.T) {
	image, err := firmware.Parse(firmware.Default())
	require.NoError(t, err)
	for _, kind := range machines {
		for rings := range uint32(fwabi.RingsMost + 1) {
			m := kind.make(32<<10, Faults{})
			c := serving(t, m, rings)
			_, _, err := c.Call(fwabi.OpPing, nil)
			assert.EqualError(t, err, "message: request refused: PING: SESSION", kind.name)
			info, err := c.Hello(7)
			require.NoError(t, err, kind.name)
			assert.Equal(t, message.Info{Version: 1, Build: binary.LittleEndian.Uint32(image.Build[:]), Queues: 16}, info)
			for n := range fwabi.PayloadBytes + 1 {
				payload := bytes.Repeat([]byte{byte(n)}, n)
				_, answer, err := c.Call(fwabi.OpPing, payload)
				require.NoError(t, err, "%s, %d bytes", kind.name, n)
				require.Equal(t, payload, answer)
			}
			for _, tt := range []struct {
				op    uint32
				bytes int
				want  string
			}{{99, 0, "op 99: UNKNOWN"}, {fwabi.OpCounters, 4, "COUNTERS: LONG"}, {fwabi.OpLog, 3, "LOG: SHORT"}} {
				_, _, err := c.Call(tt.op, make([]byte, tt.bytes))
				assert.EqualError(t, err, "message: request refused: "+tt.want)
			}
			want := [fwabi.Counts]uint32{fwabi.StatusOK: 58, fwabi.StatusUnknown: 1, fwabi.StatusShort: 1, fwabi.StatusLong: 1, fwabi.StatusSession: 1}
			assert.Equal(t, want, counts(t, c), kind.name)
			assert.EqualValues(t, intcreg.Firmware, m.Raised())
			assert.True(t, asleep(t, m), kind.name)
		}
	}
}

// A client that comes back begins anew, after one that left requests, answers and a full ring.
func TestAnotherClient(t *testing.T) {
	for _, kind := range machines {
		m := kind.make(memory, Faults{})
		first := serving(t, m, 1)
		_, err := first.Hello(1)
		require.NoError(t, err)
		host := m.At(area)
		tail := make([]byte, 4)
		require.NoError(t, host.ReadHost(fwabi.AreaRequestTail, tail))
		lost := binary.LittleEndian.AppendUint32(nil, binary.LittleEndian.Uint32(tail)+2)
		require.NoError(t, host.WriteHost(fwabi.AreaRequestTail, lost))
		require.NoError(t, m.Write(mcureg.Base+mcureg.Doorbell, fwabi.BellMessages))
		second, err := message.Open(m, host, message.Options{Polls: 1000})
		require.NoError(t, err)
		_, err = second.Hello(2)
		require.NoError(t, err, kind.name)
		_, answer, err := second.Call(fwabi.OpPing, []byte("again"))
		require.NoError(t, err, kind.name)
		assert.Equal(t, "again", string(answer))
	}
}

// A client that comes back has the log of the boot, whatever the one before it chose.
func TestHelloSelectsTheLog(t *testing.T) {
	for _, kind := range machines {
		m := kind.make(memory, Faults{})
		c := serving(t, m, 1)
		_, err := c.Hello(1)
		require.NoError(t, err)
		lines := func() uint32 {
			tail := make([]byte, 4)
			require.NoError(t, m.At(area).ReadHost(fwabi.AreaLogTail, tail))
			return binary.LittleEndian.Uint32(tail)
		}
		refused := func() uint32 {
			before := lines()
			_, _, err := c.Call(99, nil)
			require.EqualError(t, err, "message: request refused: op 99: UNKNOWN")
			return lines() - before
		}
		assert.EqualValues(t, 1, refused(), kind.name)
		_, _, err = c.Call(fwabi.OpLog, make([]byte, 4))
		require.NoError(t, err)
		assert.Zero(t, refused(), kind.name)
		c, err = message.Open(m, m.At(area), message.Options{Polls: 1000})
		require.NoError(t, err)
		_, err = c.Hello(2)
		require.NoError(t, err)
		assert.EqualValues(t, 1, refused(), kind.name)
	}
}

// Without a message area the program is ready and serves none.
func TestNoArea(t *testing.T) {
	for _, kind := range machines {
		for name, spoil := range map[string]func(h *Host, o *firmware.Options){
			"no window":       func(_ *Host, o *firmware.Options) { o.Windows[fwabi.WindowMessages].Bytes = 0 },
			"another magic":   func(h *Host, _ *firmware.Options) { _ = h.WriteHost(fwabi.AreaMagicWord, []byte{1}) },
			"another version": func(h *Host, _ *firmware.Options) { _ = h.WriteHost(fwabi.AreaVersion, []byte{99}) },
			"large rings":     func(h *Host, _ *firmware.Options) { _ = h.WriteHost(fwabi.AreaRings, []byte{7}) },
		} {
			m, o := kind.make(memory, Faults{}), withArea(area)
			require.NoError(t, message.Init(m.At(area), 3))
			spoil(m.At(area), &o)
			_, err := firmware.Load(m, firmware.Default(), o)
			require.NoError(t, err, name)
			_, err = message.Open(m, m.At(area), message.Options{Polls: 1})
			require.ErrorIs(t, err, message.ErrArea, name)
			require.NoError(t, m.Write(mcureg.Base+mcureg.Doorbell, 0xffff_ffff))
			assert.True(t, asleep(t, m), name)
		}
	}
}

// hostMemory is the host memory of the complete GPU.
type hostMemory []byte

func (h hostMemory) ReadHost(off uint32, b []byte) error {
	copy(b, h[off:])
	return nil
}

func (h hostMemory) WriteHost(off uint32, b []byte) error {
	copy(h[off:], b)
	return nil
}

// The complete GPU serves messages in host memory, writes nothing outside of the area, and raises
// the event FIRMWARE.
func TestMessagesOfTheGPU(t *testing.T) {
	const at = 0x2000
	m := newComplete(t, 32<<10, 20)
	before := bytes.Clone(m.Mem)
	host := hostMemory(m.Mem[at : at+fwabi.AreaBytes])
	require.NoError(t, message.Init(host, 2))
	o := withArea(1<<63 | memBase + at)
	o.Windows[fwabi.WindowTest] = firmware.Window{Base: 0, Bytes: 0x1000, Write: true}
	_, err := firmware.Load(m, firmware.Default(), o)
	require.NoError(t, err)
	c, err := message.Open(m, host, message.Options{Polls: 1000})
	require.NoError(t, err)
	_, err = c.Hello(1)
	require.NoError(t, err)
	begin := m.Clocks
	for range 100 {
		_, answer, err := c.Call(fwabi.OpPing, []byte("a message"))
		require.NoError(t, err)
		require.Equal(t, "a message", string(answer))
	}
	t.Logf("%d clocks for a PING, with host memory that answers after %d", (m.Clocks-begin)/100, m.Latency)
	status, err := m.Read(intcreg.Base + intcreg.Status)
	require.NoError(t, err)
	assert.EqualValues(t, intcreg.Firmware, status)
	assert.True(t, asleep(t, m))
	assert.True(t, bytes.Equal(before[:at], m.Mem[:at]) && bytes.Equal(before[at+fwabi.AreaBytes:], m.Mem[at+fwabi.AreaBytes:]))
}
