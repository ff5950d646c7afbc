package pins

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/colorlighti5"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/frame"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/uart"
)

var bytesFlag = flag.Int("pins.bytes", 500_000, "bytes of TestMutatedBytes at each byte port and on Ethernet, and a hundredth of them at the pins of each UART")

// finder reports whether a stream has a frame.
type finder struct {
	want  []byte
	found bool
}

func (f *finder) Frame(b []byte) { f.found = f.found || bytes.Equal(b, f.want) }
func (*finder) Text([]byte)      {}
func (*finder) Damaged(int)      {}

// decode returns the frames of a stream.
func decode(line []byte, s frame.Sink) {
	frame.NewDecoder(datalink.MinFrame, datalink.LargestFrame(280)).Feed(line, s)
}

// mutate changes the bytes of a frame on the line.
func mutate(r *rand.Rand, line []byte) []byte {
	b := bytes.Clone(line)
	for range 1 + r.IntN(3) {
		i := r.IntN(len(b))
		switch r.IntN(5) {
		case 0:
			b[i] ^= 1 << r.IntN(8)
		case 1:
			b[i] = byte(r.Uint32())
		case 2:
			b = slices.Delete(b, i, i+1)
		case 3:
			b = slices.Insert(b, i, byte(r.Uint32()))
		default:
			b = b[:1+i]
		}
		if len(b) == 0 {
			return []byte{0}
		}
	}
	return b
}

// A victim is a board that gets bytes of any value.
type victim struct {
	name   string
	share  int // of the bytes: one in this number
	open   func(t *testing.T, dev port.Device) (*Wire, error)
	attack func(w *Wire, r *rand.Rand, frames [][]byte, bytes int) uint64 // puts bytes on the line, and returns their clocks
}

// victims are all links at their byte ports and at pins.
func victims() []victim {
	bytesOf := func(m made, clocks uint64) func(t *testing.T, dev port.Device) (*Wire, error) {
		return func(t *testing.T, dev port.Device) (*Wire, error) {
			return New(m.newDevice(t, dev), Options{Clocks: clocks})
		}
	}
	uartOf := func(m made) func(t *testing.T, dev port.Device) (*Wire, error) {
		return func(t *testing.T, dev port.Device) (*Wire, error) {
			s := NewSerial(&serialBoard{uart: uart.New(), link: m.make(t), dev: m.tags(dev)}, serialHz, []int{serialBaud}, 0)
			return New(s, Options{Hz: serialHz})
		}
	}
	return []victim{
		{"hardwired at bytes", 1, bytesOf(both[1], 1), attackBytes}, {"sequencer at bytes", 1, bytesOf(both[0], 2), attackBytes},
		{"hardwired on Ethernet", 1, func(_ *testing.T, dev port.Device) (*Wire, error) {
			return NewEtherWire(NewEther(EtherClocked(newEtherBoard(newSixBits(dev), colorlighti5.Link())), EtherFaults{}), etherAddress, Options{})
		}, attackEther},
		{"hardwired at a UART", 100, uartOf(both[1]), attackBytes}, {"sequencer at a UART", 100, uartOf(both[0]), attackBytes},
	}
}

// TestMutatedBytes: random bytes, and frames of the session that are mutated, write nothing
// to the device, start no read and answer none. A session begins afterwards without a reset. Of
// mutated frames of the board, nothing reaches the host.
func TestMutatedBytes(t *testing.T) {
	for _, v := range victims() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			dev := &watch{Device: bustest.NewDevice(bustest.DeviceOptions{})}
			w, err := v.open(t, dev)
			require.NoError(t, err)
			r := rand.New(rand.NewPCG(3, 7))
			round := min(50_000, max(*bytesFlag/v.share, 1))
			for n := 0; n < *bytesFlag/v.share; n += round {
				p, err := w.Dial()
				require.NoError(t, err, "after %d bytes", n)
				readID(t, p, byte(n/round))
				spy := &frameSpy{line: w.line}
				w.line = spy
				for i := range 4 { // a window may be of two
					require.NoError(t, p.Send(unhex([...]string{
						"40000001 0000000f e000000411223344", "00000001 0000000f e0000000", "44000001 0000000f 0100000407000000", "00000020 000000ff d0000000",
					}[(i+2*(n/round))%4])))
				}
				w.line = spy.line
				require.GreaterOrEqual(t, len(spy.frames), 2)
				w.Cut() // the host repeats nothing
				headers := len(dev.headers)
				w.Run(v.attack(w, r, spy.frames, round))
				require.Len(t, dev.headers, headers, "after %d bytes", n)
			}
			p, err := w.Dial()
			require.NoError(t, err)
			readID(t, p, 1)
			host := bustest.NewHost(8192)
			for i := range host.Mem {
				host.Mem[i] = byte(1 + i%255) // without stuffing, a mutation changes data
			}
			link, err := rootport.New(w.Dial, host, rootport.Options{})
			require.NoError(t, err)
			v.answersOfHost(t, w, dev, link, r)
			require.NoError(t, link.Reopen())
			answersOfBoard(t, w, link, r)
		})
	}
}

// answersOfHost attacks a board that waits for data of the host with the frames that have that
// data, mutated. None of it reaches the device.
func (v victim) answersOfHost(t *testing.T, w *Wire, dev *watch, link *rootport.RootPort, r *rand.Rand) {
	t.Helper()
	require.NoError(t, bustest.Enumerate(link))
	require.NoError(t, w.jobOf(link, bustest.JobRead, 256))
	require.Equal(t, 256/8, dev.answers, "of a good line")
	require.NoError(t, bustest.StartJob(link, bustest.JobRead, 1<<20, 0, 8192))
	w.Run(300_000) // the board asks
	spy := &frameSpy{line: w.line}
	w.line = spy
	var answers [][]byte
	for range 1000 {
		_, err := link.Wait(link.Now() + 1e5)
		require.NoError(t, err)
		answers = slices.DeleteFunc(slices.Clone(spy.frames), func(f []byte) bool { return f[0]>>7 == 0 || len(f) < 64 })
		if len(answers) >= 2 {
			break
		}
	}
	w.line = spy.line
	require.GreaterOrEqual(t, len(answers), 2)
	w.Cut()
	w.Run(v.attack(w, r, answers, min(20_000, *bytesFlag/v.share)))
	require.Equal(t, 256/8, dev.answers, "data of a mutated frame")
}

// answersOfBoard mutates a third of the frames of the board. The host reads what it has written.
func answersOfBoard(t *testing.T, w *Wire, link *rootport.RootPort, r *rand.Rand) {
	t.Helper()
	require.NoError(t, bustest.Enumerate(link))
	want := make([]byte, 4096)
	for i := range want {
		want[i] = byte(r.Uint32())
	}
	require.NoError(t, link.Write(2, 0, want))
	m := &mutator{line: w.line, r: r}
	w.line = m
	damaged := w.Stats().BadCheck
	for range 20 {
		off, got := 4*r.IntN(800), make([]byte, 4*(1+r.IntN(200)))
		require.NoError(t, link.Read(2, uint64(off), got))
		require.True(t, bytes.Equal(want[off:off+len(got)], got), "%d bytes from %#x", len(got), off)
	}
	w.line = m.line
	require.Greater(t, m.mutated, 20)
	require.Greater(t, w.Stats().BadCheck, damaged)
}

// A mutator is a line that mutates a third of the frames of the board.
type mutator struct {
	line
	r       *rand.Rand
	mutated int
}

func (m *mutator) clock(now uint64, host frame.Sink) error {
	return m.line.clock(now, mutated{host, m})
}

// mutated is the host at the end of a mutator.
type mutated struct {
	frame.Sink
	m *mutator
}

func (s mutated) Frame(f []byte) {
	if s.m.r.IntN(3) != 0 {
		s.Sink.Frame(f)
		return
	}
	s.m.mutated++
	decode(append(mutate(s.m.r, new(frame.Encoder).Append(nil, f)), 0), s.Sink)
}

// A frameSpy is a line that keeps the frames of the host.
type frameSpy struct {
	line
	frames [][]byte
}

func (s *frameSpy) send(f []byte, _ uint64) { s.frames = append(s.frames, bytes.Clone(f)) }

// rest is how many clocks a board is left alone after an attack.
const rest = 3000

// attackBytes puts frames on a line of bytes that are mutated, with random bytes between them.
func attackBytes(w *Wire, r *rand.Rand, frames [][]byte, n int) uint64 {
	var line []byte
	for len(line) < n {
		f := frames[r.IntN(len(frames))]
		b := mutate(r, new(frame.Encoder).Append(nil, f))
		found := finder{want: f}
		if decode(append(bytes.Clone(b), 0), &found); !found.found {
			line = append(append(line, b...), 0)
		}
		for range r.IntN(30) {
			v := byte(r.Uint32()) // many zeros
			line = append(line, v&byte(r.Uint32()))
		}
		line = append(line, 0)
	}
	w.bytes().queue = append(w.bytes().queue, line...)
	return (uint64(len(line)) + rest) * w.bytes().clocks
}

// attackEther puts frames of an Ethernet on the line: datagrams of frames that are mutated, and
// of random bytes, in frames with the right FCS, and some with a wrong one.
func attackEther(w *Wire, r *rand.Rand, frames [][]byte, n int) uint64 {
	l := w.line.(*datagramLine)
	from := l.dev.down
	for l.dev.down-from < uint64(n) {
		f := frames[r.IntN(len(frames))]
		d := mutate(r, channel.AppendDatagram(nil, f))
		for range r.IntN(60) {
			v := byte(r.Uint32()) // many zeros
			d = append(d, v&byte(r.Uint32()))
		}
		if bytes.Contains(d, f) {
			continue
		}
		l.open, l.from = d, 0
		l.flush()
		if r.IntN(8) == 0 {
			e := &l.dev.queue[len(l.dev.queue)-2-r.IntN(60)]
			e.what.Data ^= 1 << r.IntN(8)
		}
	}
	return l.dev.next - l.dev.now + rest
}
