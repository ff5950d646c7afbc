package rootport_test

import (
	"bytes"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// Addresses of the fake device's BARs, in bytes.
const (
	base0 = 0xe0000000
	base2 = 0x2_0000_0000
	size2 = 16384
)

// A fake is a port with a scripted device. Each Receive takes a microsecond, or
// its whole time-out if there is no packet and no Send found the queue full.
type fake struct {
	perByte time.Duration // of Ahead
	t       require.TestingT
	now     time.Duration
	cfg     map[uint64]uint32
	mem     []byte // of both BARs, by offset
	inbox   [][]byte
	sent    []tlp.Packet // packets sent by the host

	answer func(req tlp.Packet, honest []tlp.Packet) []tlp.Packet // nil: honest
	full   func(c tlp.Class) bool                                 // nil: never
	down   error
	closed int
	given  []byte

	wasFull bool
	packet  int // largest packet in bytes; 0: no limit
}

func (f *fake) MaxPacket() int {
	if f.packet == 0 {
		return tlp.MaxSize
	}
	return f.packet
}

func newFake(t require.TestingT) *fake {
	return &fake{t: t, mem: make([]byte, size2), cfg: map[uint64]uint32{
		pcicfg.BAR0: base0,
		pcicfg.BAR2: base2&0xffffffff | pcicfg.BARMem64 | pcicfg.BARPrefetchable,
		pcicfg.BAR3: base2 >> 32,
		pcicfg.BAR4: 0xc001, // I/O
		pcicfg.PCIe: pcicfg.PCIeCapID,
	}}
}

// open returns a root port on the fake that has read its BARs.
func (f *fake) open(opt rootport.Options) (*rootport.RootPort, *bustest.Host) {
	h := bustest.NewHost(8192)
	r, err := rootport.New(func() (rootport.Port, error) { return f, nil }, h, opt)
	require.NoError(f.t, err)
	require.NoError(f.t, r.Read(0, 0, make([]byte, 4)))
	f.sent = nil
	return r, h
}

func (f *fake) Send(packet []byte) error {
	if f.down != nil {
		return f.down
	}
	var p tlp.Packet
	require.NoError(f.t, p.Decode(bytes.Clone(packet)))
	if f.full != nil && f.full(p.Kind.Class()) {
		f.wasFull = true
		return datalink.ErrFull
	}
	f.sent = append(f.sent, p)
	replies := f.honest(p)
	if f.answer != nil {
		replies = f.answer(p, replies)
	}
	for _, r := range replies {
		f.push(r)
	}
	return nil
}

// push makes the device send a packet.
func (f *fake) push(p tlp.Packet) {
	b, err := p.Append(nil)
	require.NoError(f.t, err)
	f.inbox = append(f.inbox, b)
}

func (f *fake) Receive(timeout time.Duration) ([]byte, error) {
	for i := range f.given {
		f.given[i] = 0xee // the previous packet is no longer valid
	}
	f.given = nil
	if len(f.inbox) > 0 {
		f.now += time.Microsecond
		f.given, f.inbox = f.inbox[0], f.inbox[1:]
		return f.given, nil
	}
	if f.down != nil {
		return nil, f.down
	}
	if f.wasFull {
		timeout = min(timeout, time.Microsecond)
	}
	f.wasFull = false
	f.now += max(timeout, 1)
	return nil, nil
}

func (f *fake) Interrupt() {}
func (f *fake) Flush()     {}

func (f *fake) Ahead(n int) time.Duration { return time.Duration(n) * f.perByte }

func (f *fake) Now() time.Duration { return f.now }

func (f *fake) Close() error {
	f.closed++
	return nil
}

// honest executes a request and returns its completions.
func (f *fake) honest(p tlp.Packet) []tlp.Packet {
	const id = 0x100
	at := p.Addr - uint64(f.cfg[pcicfg.BAR0])
	if p.Addr >= base2 {
		at = p.Addr - base2
	}
	switch p.Kind {
	case tlp.CfgRd0:
		v := f.cfg[p.Addr]
		r := p.Reply(id, tlp.SC)
		r.Kind, r.Len, r.Data = tlp.CplD, 1, []byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)}
		return []tlp.Packet{r}
	case tlp.CfgWr0:
		f.cfg[p.Addr] = uint32(p.Data[0]) | uint32(p.Data[1])<<8 | uint32(p.Data[2])<<16 | uint32(p.Data[3])<<24
		return []tlp.Packet{p.Reply(id, tlp.SC)}
	case tlp.MWr32, tlp.MWr64:
		copy(f.mem[at:], p.Data)
	case tlp.MRd32, tlp.MRd64:
		if at+4*uint64(p.Len) > size2 {
			return []tlp.Packet{p.Reply(id, tlp.UR)}
		}
		return f.completions(p, bytes.Clone(f.mem[at:at+4*uint64(p.Len)]))
	}
	return nil
}

// completions returns the completions of a memory read, of at most 64 bytes
// each.
func (f *fake) completions(p tlp.Packet, data []byte) (all []tlp.Packet) {
	for off := 0; off < len(data); {
		n := min(len(data)-off, 64-int(p.Addr+uint64(off))%64)
		all = append(all, tlp.Packet{
			Kind: tlp.CplD, Len: n / 4, Completer: 0x100, ByteCount: len(data) - off,
			Tag: p.Tag, Lower: uint8(p.Addr+uint64(off)) & 0x7f, Data: data[off : off+n],
		})
		off += n
	}
	return all
}

// fill fills memory with a pattern.
func (f *fake) fill() []byte {
	for i := range f.mem {
		f.mem[i] = byte(i*7 + i>>8 + 1)
	}
	return f.mem
}

// kinds returns the kinds of the packets sent by the host.
func (f *fake) kinds() (k []tlp.Kind) {
	for _, p := range f.sent {
		k = append(k, p.Kind)
	}
	return k
}
