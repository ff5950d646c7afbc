package rootport_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// A taker takes the memory of each packet. It writes to that of the packet before and
// returns it.
type taker struct {
	*fake
	last []byte
}

func (k *taker) Give(packet []byte) (spare []byte, err error) {
	if err := k.fake.Send(packet); err != nil {
		return packet, err
	}
	spare, k.last = k.last, packet
	for i := range spare {
		spare[i] = 0xee
	}
	return spare[:0], nil
}

// TestGive: packets are complete although the port takes their memory, also those that it
// first refuses because its queue is full. The observer sees them.
func TestGive(t *testing.T) {
	f := newFake(t)
	k := &taker{fake: f}
	h := bustest.NewHost(8192)
	h.Mem[7] = 7
	var seen [][]byte
	r, err := rootport.New(func() (rootport.Port, error) { return k, nil }, h, rootport.Options{
		Observer: func(dir rootport.Dir, _ time.Duration, packet []byte) {
			if dir == rootport.Down {
				seen = append(seen, bytes.Clone(packet))
			}
		},
	})
	require.NoError(t, err)
	require.NoError(t, r.Read(2, 0, make([]byte, 4)))
	f.sent, seen = nil, nil
	n := 0
	f.full = func(tlp.Class) bool { n++; return n%2 == 1 }
	f.push(tlp.Packet{Kind: tlp.MRd32, Len: 2, Requester: 0x100, First: 15, Last: 15, Addr: h.Base})
	want := bytes.Repeat([]byte{1, 2, 3, 5, 8, 13, 21, 34}, 64)
	require.NoError(t, r.Write(2, 0, want))
	got := make([]byte, len(want))
	require.NoError(t, r.Read(2, 0, got))
	assert.Equal(t, want, got)
	require.Len(t, seen, len(f.sent))
	answers := 0
	for i, p := range f.sent {
		b, err := p.Append(nil)
		require.NoError(t, err)
		assert.Equal(t, b, seen[i])
		if p.Kind == tlp.CplD {
			answers++
			assert.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 7}, p.Data)
		}
	}
	assert.Equal(t, 1, answers)
}
