package endpoint_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// direct is a rootport.Port without a line: packets reach the endpoint at once.
// A device clock takes 10 ns.
type direct struct {
	end    *endpoint.Endpoint
	down   error
	packet int // largest packet in bytes; 0: no limit
}

func (d *direct) MaxPacket() int {
	if d.packet == 0 {
		return tlp.MaxSize
	}
	return d.packet
}

func (d *direct) Send(packet []byte) error {
	if d.down != nil {
		return d.down
	}
	if len(packet) > d.MaxPacket() {
		return datalink.ErrSize
	}
	for {
		err := d.end.Receive(packet)
		if !errors.Is(err, endpoint.ErrFull) {
			return nil // the endpoint counts refused packets
		}
		if d.end.Run(1) == 0 {
			return fmt.Errorf("%w: %w", bus.ErrLinkDown, err)
		}
	}
}

func (d *direct) Receive(timeout time.Duration) ([]byte, error) {
	if d.down != nil {
		return nil, d.down
	}
	for left := uint64(timeout/10 + 1); ; {
		if p, ok := d.end.Next(); ok {
			if len(p) > d.MaxPacket() {
				return nil, fmt.Errorf("%w: a packet of %d bytes", bus.ErrLinkDown, len(p))
			}
			return p, nil
		}
		if left == 0 {
			return nil, d.end.Err()
		}
		left -= d.end.Run(left)
	}
}

func (d *direct) Now() time.Duration { return time.Duration(10 * d.end.Now()) }

func (d *direct) Interrupt() {}
func (d *direct) Flush()     {}

func (d *direct) Ahead(int) time.Duration { return 0 }

func (d *direct) Close() error { return nil }

// TestConformance runs the conformance suite over packets: package rootport on
// the host's side and the reference device, with and without stalls, and with
// packets whose largest payload is 128 and 64 bytes.
func TestConformance(t *testing.T) {
	for _, tt := range []struct {
		stall  uint64
		packet int
	}{{0, 0}, {1, 0}, {0, 144}, {1, 80}} {
		t.Run(fmt.Sprintf("stall %d packet %d", tt.stall, tt.packet), func(t *testing.T) {
			bustest.Run(t, func(t *testing.T) bustest.Fixture {
				dev := bustest.NewDevice(bustest.DeviceOptions{Stall: tt.stall})
				chk := newChecker(dev)
				end, err := endpoint.New(chk, endpoint.Options{})
				require.NoError(t, err)
				host := bustest.NewHost(8192)
				d := &direct{end: end, packet: tt.packet}
				end.SetMaxPacket(d.MaxPacket())
				link, err := rootport.New(func() (rootport.Port, error) { return d, nil }, host, rootport.Options{MaxPayload: 256, MaxReadRequest: 4096})
				require.NoError(t, err)
				t.Cleanup(func() {
					require.Empty(t, chk.wrong)
					require.NoError(t, end.Err())
				})
				f := bustest.DeviceFixture(link, link, host, dev)
				f.Kill = func() { d.down = fmt.Errorf("%w: cut", bus.ErrLinkDown) }
				return f
			})
		})
	}
}

// quietRunner is a Runner whose IdleFor is always 0.
type quietRunner struct {
	port.Device
	ran uint64
}

func (r *quietRunner) IdleFor() uint64 { return 0 }

func (r *quietRunner) Run(n uint64) uint64 {
	for i := range n {
		cpl, _, _ := r.Target()
		req, beat := r.Initiator()
		if cpl.Status != port.CplNone || req.Kind != port.None || beat.Valid {
			return i
		}
		r.Tick(port.Request{}, port.Beat{}, false, port.Completion{}, false, false)
		r.ran++
	}
	return n
}

// transcript runs some jobs and returns the clocks at which they completed.
func transcript(t *testing.T, dev port.Device) (times []uint64, mem []byte) {
	end, err := endpoint.New(dev, endpoint.Options{})
	require.NoError(t, err)
	host := bustest.NewHost(8192)
	link, err := rootport.New(func() (rootport.Port, error) { return &direct{end: end}, nil }, host, rootport.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	for i, job := range []uint32{bustest.JobRead, bustest.JobWrite, bustest.JobDelay, bustest.JobWrite} {
		require.NoError(t, bustest.StartJob(link, job, host.Base+uint64(300*i), uint32(300*i), 300))
		for event := false; !event; times = append(times, end.Now()) {
			event, err = link.Wait(link.Now() + 1e9)
			require.NoError(t, err)
		}
		require.NoError(t, link.Read(2, 0, make([]byte, 700)))
	}
	return append(times, end.Now()), host.Mem
}

// TestSkipping: skipping clocks, running them in the device or ticking them one
// by one has the same result.
func TestSkipping(t *testing.T) {
	skipped, want := transcript(t, bustest.NewDevice(bustest.DeviceOptions{}))
	r := &quietRunner{Device: bustest.NewDevice(bustest.DeviceOptions{})}
	run, got := transcript(t, r)
	require.Equal(t, skipped, run)
	require.Equal(t, want, got)
	require.NotZero(t, r.ran)
}

// TestSmallPackets: over packets with a payload of 16 bytes, accesses of the host and
// writes of the device are cut. A read that a foreign host makes larger is aborted.
func TestSmallPackets(t *testing.T) {
	dev := bustest.NewDevice(bustest.DeviceOptions{})
	end, err := endpoint.New(dev, endpoint.Options{})
	require.NoError(t, err)
	d := &direct{end: end, packet: 36}
	end.SetMaxPacket(d.packet)
	host := bustest.NewHost(8192)
	link, err := rootport.New(func() (rootport.Port, error) { return d, nil }, host, rootport.Options{})
	require.NoError(t, err)
	const bar2 = 0xd0000000
	for _, w := range [][2]uint32{
		{pcicfg.BAR0, 0xe0000000}, {pcicfg.BAR2, bar2}, {pcicfg.BAR3, 0}, {pcicfg.Command, pcicfg.CommandMemory | pcicfg.CommandBusMaster},
	} {
		require.NoError(t, link.WriteConfig(int(w[0]), w[1]))
	}
	want := make([]byte, 256)
	for i := range want {
		want[i] = byte(i + 1)
	}
	require.NoError(t, link.Write(2, 0, want))
	got := make([]byte, len(want))
	require.NoError(t, link.Read(2, 0, got))
	assert.Equal(t, want, got)

	for _, w := range [][2]uint32{
		{bustest.RegHostLo, uint32(host.Base) + 4}, {bustest.RegLen, 200}, {bustest.RegJob, bustest.JobWrite},
	} {
		require.NoError(t, link.Write(0, uint64(w[0]), binary.LittleEndian.AppendUint32(nil, w[1])))
	}
	_, err = link.Wait(link.Now() + 100_000)
	require.NoError(t, err)
	mem := make([]byte, 200)
	require.NoError(t, host.ReadMem(host.Base+4, mem))
	assert.Equal(t, want[:200], mem)

	read := tlp.Packet{Kind: tlp.MRd32, Len: 8, First: 0xf, Last: 0xf, Addr: bar2}
	raw, err := read.Append(nil)
	require.NoError(t, err)
	require.NoError(t, end.Receive(raw))
	answer, err := d.Receive(100 * time.Microsecond)
	require.NoError(t, err)
	var p tlp.Packet
	require.NoError(t, p.Decode(answer))
	assert.Equal(t, tlp.Cpl, p.Kind)
	assert.Equal(t, tlp.CA, p.Status)
}
