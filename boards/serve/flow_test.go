package serve_test

import (
	"encoding/binary"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// TestHostThatDoesNotReceive: when the host accepts no packets for a while, the
// device's writes wait, within bounds, and nothing is lost.
func TestHostThatDoesNotReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, link, host := pairOf(t, bustest.NewDevice(bustest.DeviceOptions{MemBytes: 512 << 10}), serve.Options{}, rootport.Options{})
		host.Mem = make([]byte, 512<<10)
		require.NoError(t, bustest.Enumerate(link))
		want := make([]byte, 400_000) // more than two windows
		for i := range want {
			want[i] = byte(i ^ i>>8)
		}
		require.NoError(t, link.Write(2, 0, want))
		require.NoError(t, bustest.StartJob(link, bustest.JobWrite, host.Base, 0, uint32(len(want))))
		time.Sleep(time.Second)
		assert.Less(t, r.board.Stats().Endpoint.DeviceWrites, uint64(len(want)/128), "the device is held back")
		event, err := link.Wait(link.Now() + 1e9)
		require.NoError(t, err)
		require.True(t, event)
		assert.Equal(t, want, host.Mem[:len(want)])
		time.Sleep(settle)
		assert.Zero(t, r.board.Stats().Dropped)
		link.Close()
		<-r.ended
	})
}

// requester is a device that, once on is set, sends reads at ascending
// addresses and then a write.
type requester struct {
	*bustest.Device
	on          bool
	reads, sent int
}

func (d *requester) Initiator() (req port.Request, beat port.Beat) {
	switch {
	case !d.on:
	case d.sent < d.reads:
		req = port.Request{Kind: port.MemRead, Tag: uint8(d.sent), Len: 1, Addr: uint64(4 * d.sent)}
	case d.sent == d.reads:
		req = port.Request{Kind: port.MemWrite, Len: 2, Addr: 0x1000}
		beat = port.Beat{Valid: true, Last: true, Enable: 0xff}
	}
	return req, beat
}

func (d *requester) Tick(req port.Request, beat port.Beat, cplReady bool, _ port.Completion, reqReady, _ bool) {
	if reqReady {
		d.sent++
	}
	d.Device.Tick(req, beat, cplReady, port.Completion{}, false, false)
}

func (d *requester) IdleFor() uint64 {
	if d.on && d.sent <= d.reads {
		return 0
	}
	return d.Device.IdleFor()
}

// TestWritePassesReads: reads without credits do not block a write, and all
// reads arrive in order.
func TestWritePassesReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const reads, credits = 120, 8
		near, far := net.Pipe()
		dev := &requester{Device: bustest.NewDevice(bustest.DeviceOptions{}), reads: reads}
		r := start(t, dev, far, serve.Options{})
		link := datalink.Config{Role: datalink.Host}
		link.Credits[tlp.NonPosted].Headers = credits
		host, err := channel.Open(near, channel.Config{Link: link})
		require.NoError(t, err)
		time.Sleep(time.Second)
		r.board.Sample(func() { dev.on = true })
		time.Sleep(time.Second)
		next, at := uint64(0), -1
		for i := range reads + 1 {
			raw, err := host.Receive(time.Second)
			require.NoError(t, err)
			require.NotNil(t, raw, "%d packets arrived", i)
			var p tlp.Packet
			require.NoError(t, p.Decode(raw))
			if p.Kind == tlp.MWr32 {
				at = i
				continue
			}
			require.Equal(t, 4*next, p.Addr)
			next++
		}
		assert.Equal(t, credits, at)
		host.Close()
		<-r.ended
	})
}

// stalling is a device that accepts no requests while on is set.
type stalling struct {
	port.Device
	on atomic.Bool
}

func (d *stalling) Target() (port.Completion, bool, bool) {
	cpl, req, data := d.Device.Target()
	return cpl, req && !d.on.Load(), data
}

func (d *stalling) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	if d.on.Load() {
		req = port.Request{}
	}
	d.Device.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
}

const words = 100

// flood writes words to memory, one packet each.
func flood(t *testing.T, link *rootport.RootPort) {
	t.Helper()
	for i := range uint32(words) {
		require.NoError(t, link.Write(2, uint64(4*i), binary.LittleEndian.AppendUint32(nil, i+1)))
	}
}

// TestStallingDevice: when the device accepts no requests for a while, the
// host's packets wait and all arrive in order.
func TestStallingDevice(t *testing.T) {
	dev := &stalling{Device: bustest.NewDevice(bustest.DeviceOptions{})}
	r, link, _ := pairOf(t, dev, serve.Options{Endpoint: endpoint.Options{Queue: 4}}, rootport.Options{})
	require.NoError(t, bustest.Enumerate(link))
	r.board.Sample(func() { dev.on.Store(true) })
	flood(t, link)
	time.Sleep(50 * time.Millisecond)
	r.board.Sample(func() { dev.on.Store(false) })
	p := make([]byte, 4*words)
	require.NoError(t, link.Read(2, 0, p))
	for i := range words {
		require.Equal(t, uint32(i+1), binary.LittleEndian.Uint32(p[4*i:]))
	}
}
