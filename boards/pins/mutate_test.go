package pins

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/frame"
)

var bytesFlag = flag.Int("pins.bytes", 1_000_000, "bytes of TestMutatedBytes")

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

// catcher keeps the last frame.
type catcher struct{ last []byte }

func (c *catcher) Frame(b []byte) { c.last = bytes.Clone(b) }
func (*catcher) Text([]byte)      {}
func (*catcher) Damaged(int)      {}

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

// TestMutatedBytes: random bytes, and frames of the session that are mutated, write nothing
// to the device and start no read. A session begins afterwards without a reset.
func TestMutatedBytes(t *testing.T) {
	dev := &watch{Device: bustest.NewDevice(bustest.DeviceOptions{})}
	w, err := New(both[1].newDevice(t, dev), Options{Clocks: 1})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(3, 7))
	const round = 50_000
	for n := 0; n < *bytesFlag; n += round {
		p, err := w.Dial()
		require.NoError(t, err, "after %d bytes", n)
		readID(t, p, byte(n/round))
		var lines, frames [][]byte
		for _, s := range []string{
			"40000001 0000000f e000000411223344", "00000001 0000000f e0000000", "44000001 0000000f 0100000407000000", "00000020 000000ff d0000000",
		} {
			w.bytes().queue = nil
			require.NoError(t, p.Send(unhex(s)))
			var c catcher
			decode(append(bytes.Clone(w.bytes().queue), 0), &c)
			require.NotNil(t, c.last)
			lines, frames = append(lines, append([]byte{0}, w.bytes().queue...)), append(frames, c.last)
		}
		w.Cut() // the host repeats nothing
		headers := len(dev.headers)
		var line []byte
		for len(line) < round {
			i := r.IntN(len(lines))
			f := finder{want: frames[i]}
			b := mutate(r, lines[i])
			if decode(append(bytes.Clone(b), 0), &f); !f.found {
				line = append(append(line, b...), 0)
			}
			for range r.IntN(30) {
				v := byte(r.Uint32()) // many zeros
				line = append(line, v&byte(r.Uint32()))
			}
			line = append(line, 0)
		}
		w.bytes().queue = line
		w.Run(uint64(len(line)) + 2000)
		require.Len(t, dev.headers, headers, "after %d bytes", n)
	}
}
