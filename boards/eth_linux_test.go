package boards

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/ether"
	"github.com/hilgpu/hilgpu/bus/ether/ethertest"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// TestForeignFrames: frames of another address change nothing at the host, even those of
// the session that it has not received yet.
func TestForeignFrames(t *testing.T) {
	ethertest.Run(t, func(t *testing.T, n *ethertest.Net) {
		const patience = 20 * time.Second // of both ends, while no frames arrive
		host, err := ether.ParseMAC(ethertest.HostMAC)
		require.NoError(t, err)
		var socket *ether.Socket
		n.Board(t, func() { socket, err = ether.Open(ethertest.BoardInterface, ether.Link, 0, serve.SocketBuffer) })
		require.NoError(t, err)
		line := &withheld{etherStream: &etherStream{socket: socket, board: host}}
		config := channel.Config{Link: datalink.Config{Role: datalink.Board, MapHash: regmap.Hash(), DeadAfter: patience, GiveUp: patience}}
		config.SetDatagram(socket.Largest())
		board, err := channel.Open(line, config)
		require.NoError(t, err)
		defer board.Close()
		mem := &words{}
		link, _, err := Open("eth:"+ethertest.HostInterface+"/"+ethertest.BoardMAC+"?silence=20000", mem)
		require.NoError(t, err)
		defer link.Close()
		_, err = board.Receive(patience)
		require.ErrorIs(t, err, channel.ErrSession)

		line.hold()
		want := []byte("new!")
		write := tlp.Packet{Kind: tlp.MWr32, Len: 1, First: 15, Addr: memBase, Data: want}
		packet, err := write.Append(nil)
		require.NoError(t, err)
		require.NoError(t, board.Send(packet))
		board.Flush()
		var fresh []byte
		require.Eventually(t, func() bool { fresh = line.holds(want); return fresh != nil }, patience, time.Millisecond, "the board sends the write")
		damaged := slices.Clone(fresh)
		damaged[len(damaged)-1] ^= 1
		counters := func() (all [2]uint64) {
			for _, c := range link.(*remote).Counters() {
				switch c.Name {
				case "wire_bytes_from_device":
					all[0] = c.Value
				case "frames_damaged":
					all[1] = c.Value
				}
			}
			return all
		}
		// count waits until the host has read a damaged frame, and thus those before it.
		count := func() uint64 {
			before := counters()[1]
			require.NoError(t, socket.WriteTo(damaged, host))
			require.Eventually(t, func() bool { return counters()[1] > before }, patience, time.Millisecond)
			return counters()[0]
		}
		before := count()
		third(t, n, host, fresh)
		assert.Equal(t, before+uint64(len(damaged)), count(), "the frame from the third address reaches no link")
		assert.Empty(t, mem.all())
		require.NoError(t, socket.WriteTo(fresh, host))
		require.Eventually(t, func() bool { return len(mem.all()) > 0 }, patience, time.Millisecond, "the same frame from the board")
		assert.Equal(t, want, mem.all())
		line.release()
	})
}

// third sends a datagram to the host from an address of no interface.
func third(t *testing.T, n *ethertest.Net, host ether.MAC, datagram []byte) {
	t.Helper()
	var fd int
	var err error
	n.Board(t, func() { fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0) })
	require.NoError(t, err)
	defer unix.Close(fd)
	at, err := unix.NewIfreq(ethertest.BoardInterface)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, at))
	frame := append(host[:], 2, 0, 0, 0, 0, 9)
	frame = binary.BigEndian.AppendUint16(frame, ether.Link)
	frame = binary.BigEndian.AppendUint16(frame, uint16(len(datagram)))
	frame = append(frame, datagram...)
	require.NoError(t, unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: int(at.Uint32())}))
}

// words is a host that keeps what the device writes.
type words struct {
	mu   sync.Mutex
	kept []byte
}

func (*words) ReadMem(uint64, []byte) error { return errNoMemory }

func (w *words) WriteMem(_ uint64, p []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, p...)
	return nil
}

func (w *words) all() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.kept)
}

// A withheld stream keeps what is written while it is on, and can send nothing.
type withheld struct {
	*etherStream
	mu   sync.Mutex
	on   bool
	kept [][]byte
}

func (w *withheld) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.on {
		return w.etherStream.Write(p)
	}
	w.kept = append(w.kept, slices.Clone(p))
	return len(p), nil
}

func (w *withheld) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.on = true
}

// release sends again what is written.
func (w *withheld) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.on = false
}

// holds returns a datagram with the given bytes that is kept, or nil.
func (w *withheld) holds(text []byte) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.kept, func(d []byte) bool { return bytes.Contains(d, text) })
	if i < 0 {
		return nil
	}
	return w.kept[i]
}
