package testbench_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// pattern returns bytes of which few are zero.
func pattern(n int) []byte {
	p := make([]byte, n)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return p
}

// errOver is the end of the session of a fastBoard.
var errOver = errors.New("the session is over")

// A fastBoard is a board whose device needs no time. BAR 2 drops what is written and reads
// as a pattern. A write of the job register starts a transfer of bulkBytes between the device
// and the first bulkPiece bytes of the host. An endpoint answers the rest.
type fastBoard struct {
	ch      *channel.Channel
	payload int
	own     atomic.Int64 // size of the device's own requests, in bytes
	single  bool         // writes each packet to the stream at once
	end     *endpoint.Endpoint
	asked   []tlp.Packet // reads of BAR 2 to be answered
	flying  int          // bytes of the device's reads to come
	tag     uint16
	data    []byte
	buf     []byte
	session bool
}

func (f *fastBoard) run() error {
	defer f.ch.Close()
	code := uint32(0)
	for 128<<code < f.payload {
		code++
	}
	var err error
	dev := bustest.NewDevice(bustest.DeviceOptions{MemBytes: bulkPiece, Config: map[int]uint32{pcicfg.PCIe: pcicfg.PCIeCapID, pcicfg.DevCtl: code << 5}})
	if f.end, err = endpoint.New(dev, endpoint.Options{}); err != nil {
		return err
	}
	f.data = pattern(4096)
	for err == nil {
		if err = f.receive(); err == nil && len(f.asked) > 0 {
			err = f.answer()
		}
	}
	return err
}

// receive handles a packet of the host.
func (f *fastBoard) receive() error {
	p, err := f.ch.Receive(time.Second)
	switch {
	case errors.Is(err, channel.ErrSession):
		f.session = true
		return nil
	case err != nil:
		return err
	case p == nil:
		if _, up, _ := f.ch.Session(); f.session && !up {
			return errOver
		}
		return nil
	}
	var in tlp.Packet
	if err := in.Decode(p); err != nil {
		return err
	}
	bar2 := in.Addr >= bustest.Base2
	switch {
	case in.Kind == tlp.CplD:
		f.flying -= 4 * in.Len
	case in.Kind == tlp.MRd64 && bar2:
		in.Data = nil
		f.asked = append(f.asked, in)
	case in.Kind == tlp.MWr64 && bar2:
	case in.Kind == tlp.MWr32 && in.Addr == bustest.Base0+bustest.RegJob:
		return f.job(binary.LittleEndian.Uint32(in.Data))
	default:
		return f.pass(p)
	}
	return nil
}

// pass gives a packet to the endpoint.
func (f *fastBoard) pass(p []byte) error {
	if err := f.end.Receive(p); err != nil {
		return err
	}
	f.end.Run(200)
	for p, ok := f.end.Next(); ok; p, ok = f.end.Next() {
		if err := f.ch.Send(p); err != nil {
			return err
		}
	}
	return nil
}

// answer completes the reads of BAR 2.
func (f *fastBoard) answer() error {
	for len(f.asked) > 0 {
		in := f.asked[0]
		f.asked = f.asked[1:]
		for off, left := 0, 4*in.Len; left > 0; {
			n := min(left, f.payload-(int(in.Addr)+off)%f.payload)
			out := tlp.Packet{
				Kind: tlp.CplD, Len: n / 4, Completer: 0x100, Requester: in.Requester, Tag: in.Tag,
				ByteCount: left, Lower: uint8(int(in.Addr)+off) & 0x7f, Data: f.data[:n],
			}
			if err := f.send(&out); err != nil {
				return err
			}
			off, left = off+n, left-n
		}
	}
	return nil
}

// send sends a packet when there is room.
func (f *fastBoard) send(out *tlp.Packet) error {
	var err error
	if f.buf, err = out.Append(f.buf[:0]); err != nil {
		return err
	}
	for packet := f.buf; ; {
		if f.buf, err = f.ch.Give(packet); !errors.Is(err, datalink.ErrFull) {
			if f.single && err == nil {
				f.ch.Flush()
			}
			return err
		}
		if err = f.receive(); err != nil {
			return err
		}
	}
}

// job moves bulkBytes and sends message 0.
func (f *fastBoard) job(job uint32) error {
	const base = 1 << 20 // of the host's memory
	own := int(f.own.Load())
	for at := 0; at < bulkBytes; at += own {
		out := tlp.Packet{Kind: tlp.MWr32, Requester: 0x100, Len: own / 4, Addr: uint64(base + at%bulkPiece), First: 15, Last: 15, Data: f.data[:own]}
		if job == bustest.JobRead {
			for f.flying > 32*own {
				if err := f.receive(); err != nil {
					return err
				}
			}
			out.Kind, out.Data, out.Tag = tlp.MRd32, nil, f.tag
			f.tag = (f.tag + 1) % 64
			f.flying += own
		}
		if err := f.send(&out); err != nil {
			return err
		}
	}
	for f.flying > 0 {
		if err := f.receive(); err != nil {
			return err
		}
	}
	return f.send(&tlp.Packet{Kind: tlp.MWr32, Requester: 0x100, Len: 1, Addr: bustest.MessageBase, First: 15, Data: make([]byte, 4)})
}
