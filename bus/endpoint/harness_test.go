package endpoint_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// hostID is the requester. boardID is assigned by the configuration write of
// newBench.
const (
	hostID  tlp.ID = 0x0000
	boardID tlp.ID = 0x0300
)

// tester is the common part of testing.T and rapid.T.
type tester interface {
	require.TestingT
	Helper()
}

// bench is an endpoint with a test device, both checked.
type bench struct {
	t   tester
	dev *testDevice
	chk *checker
	end *endpoint.Endpoint
}

func newBench(t tester, dev *testDevice, opt endpoint.Options) *bench {
	t.Helper()
	b := &bench{t: t, dev: dev, chk: newChecker(dev)}
	dev.roll()
	var err error
	b.end, err = endpoint.New(b.chk, opt)
	require.NoError(t, err)
	dev.config[4] = 2 // memory decode
	b.send(tlp.Packet{Kind: tlp.CfgWr0, Len: 1, First: 1, Addr: 0x3c, Completer: boardID, Data: []byte{9, 9, 9, 9}})
	got := b.packets()
	require.Len(t, got, 1)
	require.Equal(t, tlp.Packet{Kind: tlp.Cpl, ByteCount: 4, Completer: boardID}, got[0])
	require.Equal(t, []byte{9, 0, 0, 0}, dev.config[0x3c:0x40])
	return b
}

func encode(t tester, p tlp.Packet) []byte {
	t.Helper()
	b, err := p.Append(nil)
	require.NoError(t, err)
	return b
}

// send passes p to the endpoint, which must accept it.
func (b *bench) send(p tlp.Packet) {
	b.t.Helper()
	raw := encode(b.t, p)
	for {
		err := b.end.Receive(raw)
		if !errors.Is(err, endpoint.ErrFull) {
			require.NoError(b.t, err, "%v", &p)
			break
		}
		require.NotZero(b.t, b.end.Run(1), "the endpoint is full and does not drain")
	}
	clear(raw) // Receive copies
}

// next runs until there is a packet or no more activity.
func (b *bench) next() (p tlp.Packet, ok bool) {
	b.t.Helper()
	for range 100_000 {
		if raw, ok := b.end.Next(); ok {
			require.NoError(b.t, p.Decode(raw))
			p.Data = slices.Clone(p.Data)
			b.check()
			return p, true
		}
		if b.end.Idle() > 1<<20 {
			break
		}
		b.end.Run(64)
	}
	b.check()
	require.NotZero(b.t, b.end.Idle(), "work never ends")
	return p, false
}

func (b *bench) check() {
	b.t.Helper()
	require.NoError(b.t, b.end.Err())
	require.Empty(b.t, b.chk.wrong)
}

// packets returns all packets until there is no more activity.
func (b *bench) packets() (all []tlp.Packet) {
	b.t.Helper()
	for {
		p, ok := b.next()
		if !ok {
			return all
		}
		all = append(all, p)
	}
}

// memory returns a memory request with the header size its address requires.
func memory(write bool, addr uint64, dwords int, first, last uint8) tlp.Packet {
	p := tlp.Packet{Kind: tlp.MRd32, Requester: hostID, Addr: addr, Len: dwords, First: first, Last: last}
	if write {
		p.Kind = tlp.MWr32
		p.Data = make([]byte, 4*dwords)
	}
	if addr>>32 != 0 {
		p.Kind++
	}
	return p
}

func fill(p []byte, from int) []byte {
	for i := range p {
		p[i] = byte(from + i*7)
	}
	return p
}

func success(tag uint8, last bool, data uint64) port.Completion {
	return port.Completion{Tag: tag, Status: port.CplSuccess, Last: last, Data: data}
}

func plain(t *testing.T) *bench { return newBench(t, &testDevice{}, endpoint.Options{}) }
