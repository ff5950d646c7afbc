package endpoint_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// direct is a rootport.Port without a line: packets reach the endpoint at once.
// A device clock takes 10 ns.
type direct struct {
	end  *endpoint.Endpoint
	down error
}

func (d *direct) Send(packet []byte) error {
	if d.down != nil {
		return d.down
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
			return p, nil
		}
		if left == 0 {
			return nil, d.end.Err()
		}
		left -= d.end.Run(left)
	}
}

func (d *direct) Now() time.Duration { return time.Duration(10 * d.end.Now()) }

func (d *direct) Close() error { return nil }

// TestConformance runs the conformance suite over packets: package rootport on
// the host's side and the reference device, with and without stalls.
func TestConformance(t *testing.T) {
	for _, stall := range []uint64{0, 1} {
		t.Run(fmt.Sprintf("stall %d", stall), func(t *testing.T) {
			bustest.Run(t, func(t *testing.T) bustest.Fixture {
				dev := bustest.NewDevice(bustest.DeviceOptions{Stall: stall})
				chk := newChecker(dev)
				end, err := endpoint.New(chk, endpoint.Options{})
				require.NoError(t, err)
				host := bustest.NewHost(8192)
				d := &direct{end: end}
				link, err := rootport.New(func() (rootport.Port, error) { return d, nil }, host, rootport.Options{})
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
