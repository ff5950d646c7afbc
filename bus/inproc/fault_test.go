package inproc_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// TestFaulty runs three jobs of 300 bytes under each injected fault; RegJob is
// the doorbell. The device stalls, so that dropped and passed beats meet in
// every phase.
func TestFaulty(t *testing.T) {
	doorbells := []uint64{bustest.RegJob}
	for _, tt := range []struct {
		name     string
		fault    inproc.Fault
		done     uint32
		messages int
		dead     bool
		harmed   uint64
	}{
		{"none", inproc.Fault{}, 3, 3, false, 0},
		{"all interrupts", inproc.Fault{Kind: inproc.LostInterrupt}, 3, 0, false, 3},
		{"second interrupt", inproc.Fault{Kind: inproc.LostInterrupt, After: 1, Count: 1}, 3, 2, false, 1},
		{"all doorbells", inproc.Fault{Kind: inproc.LostDoorbell, Doorbells: doorbells}, 0, 0, false, 3},
		{"first doorbell", inproc.Fault{Kind: inproc.LostDoorbell, Count: 1, Doorbells: doorbells}, 2, 2, false, 1},
		{"dies at the third doorbell", inproc.Fault{Kind: inproc.DeadDoorbell, After: 2, Doorbells: doorbells}, 2, 2, true, 1},
		{"dies in the middle of a write", inproc.Fault{Kind: inproc.DeadRequest, After: 3}, 0, 0, true, 1},
	} {
		for stall := range uint64(4) {
			t.Run(tt.name, func(t *testing.T) {
				d, host := bustest.NewDevice(bustest.DeviceOptions{Stall: stall}), bustest.NewHost(4096)
				f := inproc.NewFaulty(d, tt.fault)
				link, err := inproc.New(f, host, inproc.Options{})
				require.NoError(t, err)
				require.NoError(t, bustest.Enumerate(link))
				want := make([]byte, 900)
				for i := range want {
					want[i] = byte(i + 1)
				}
				require.NoError(t, link.Write(2, 0, want))
				for i := range 3 {
					require.NoError(t, bustest.StartJob(link, bustest.JobWrite, host.Base+uint64(300*i), uint32(300*i), 300))
					for deadline := link.Now() + 3000; link.Now() < deadline; {
						_, err := link.Wait(deadline)
						require.NoError(t, err)
					}
				}
				assert.Len(t, host.Messages(), tt.messages)
				p := make([]byte, 4)
				if err := link.Read(0, bustest.RegDone, p); tt.dead {
					assert.ErrorIs(t, err, bus.ErrTimeout)
					assert.Equal(t, uint64(math.MaxUint64), f.IdleFor())
				} else {
					require.NoError(t, err)
					assert.Equal(t, byte(tt.done), p[0])
				}
				if tt.done == 3 {
					assert.Equal(t, want, host.Mem[:900])
				}
				assert.Equal(t, tt.harmed, f.Injected())
			})
		}
	}
}

// TestLostInterruptAmongWrites drops a message whose header arrives before the
// preceding write has all its beats. The writes around it must pass.
func TestLostInterruptAmongWrites(t *testing.T) {
	host := bustest.NewHost(64)
	beat := func(v byte, enable uint8, last bool) port.Beat {
		return port.Beat{Valid: true, Data: uint64(v) * 0x0101010101010101, Enable: enable, Last: last}
	}
	dev := &script{
		reqs: []port.Request{
			{Kind: port.MemWrite, Len: 4, Addr: host.Base},
			{Kind: port.MemWrite, Len: 1, Addr: bustest.MessageBase},
			{Kind: port.MemWrite, Len: 2, Addr: host.Base + 16},
			{Kind: port.MemWrite, Len: 1, Addr: bustest.MessageBase + 4},
		},
		beats: []port.Beat{beat(1, 0xff, false), beat(2, 0xff, true), beat(3, 0xf, true), beat(4, 0xff, true), beat(5, 0xf0, true)},
	}
	f := inproc.NewFaulty(dev, inproc.Fault{Kind: inproc.LostInterrupt, Count: 1})
	link, err := inproc.New(f, host, inproc.Options{BytesPerClock: 3})
	require.NoError(t, err)
	_, err = link.Wait(200)
	require.NoError(t, err)
	assert.Equal(t, []byte{1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 4, 4, 0}, host.Mem[:25])
	assert.Equal(t, []bustest.Message{{Addr: bustest.MessageBase + 4, Data: []byte{5, 5, 5, 5}}}, host.Messages())
	assert.EqualValues(t, 1, f.Injected())
}

// A lost answer leaves the device without it; a late one arrives after LateClocks, with
// the data that the host has sent. Other reads are not affected.
func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fault  inproc.Fault
		wait   uint64
		done   byte
		harmed uint64
	}{
		{"lost", inproc.Fault{Kind: inproc.LostAnswer, After: 2, Count: 1}, 2 * inproc.LateClocks, 0, 1},
		{"later ones are lost", inproc.Fault{Kind: inproc.LostAnswer, After: 100, Count: 1}, 3000, 1, 0},
		{"late", inproc.Fault{Kind: inproc.LateAnswer, After: 2, Count: 1}, inproc.LateClocks - 1000, 0, 1},
		{"late, and it has arrived", inproc.Fault{Kind: inproc.LateAnswer, After: 2, Count: 1}, inproc.LateClocks + 1000, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, host := bustest.NewDevice(bustest.DeviceOptions{}), bustest.NewHost(4096)
			f := inproc.NewFaulty(d, tt.fault)
			link, err := inproc.New(f, host, inproc.Options{})
			require.NoError(t, err)
			require.NoError(t, bustest.Enumerate(link))
			for i := range host.Mem {
				host.Mem[i] = byte(3*i + 1)
			}
			want := append([]byte(nil), host.Mem[:900]...)
			require.NoError(t, bustest.StartJob(link, bustest.JobRead, host.Base, 0, 900))
			for deadline := link.Now() + tt.wait; link.Now() < deadline; {
				_, err := link.Wait(deadline)
				require.NoError(t, err)
			}
			p := make([]byte, 900)
			require.NoError(t, link.Read(0, bustest.RegDone, p[:4]))
			assert.Equal(t, tt.done, p[0])
			assert.Equal(t, tt.harmed, f.Injected())
			require.NoError(t, link.Read(2, 0, p))
			if tt.done == 1 {
				assert.Equal(t, want, p)
			} else {
				assert.NotEqual(t, want, p)
			}
		})
	}
}
