package pins

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/frame"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/seq"
)

// sequencer is the sequencer between software that frames, and a device.
type sequencer struct {
	seq  seq.Module
	dev  port.Device
	dec  *frame.Decoder
	enc  frame.Encoder
	half [2][256]byte
	n    int // frames received
	old  int // the oldest one
	data byte
	bad  bool
	tx   []byte
	line []byte
	over int
}

func (s *sequencer) Frame(f []byte) {
	if s.n == 2 {
		s.over++
		return
	}
	h := &s.half[s.old^s.n]
	body := f[:len(f)-4]
	copy(h[:], body)
	h[251] = byte(len(body))
	binary.BigEndian.PutUint32(h[252:], crc32.ChecksumIEEE(body)^binary.BigEndian.Uint32(f[len(body):]))
	s.n++
}
func (s *sequencer) Text([]byte) {}
func (s *sequencer) Damaged(int) { s.bad = true }

func (s *sequencer) Tick(in byte, valid, ready bool) (out byte, sent bool) {
	rx := seq.Rx{There: s.n > 0, Other: s.n > 1, Data: s.data, Damaged: s.bad}
	s.bad = false
	if read, at, other := s.seq.Fetch(); read {
		h := s.old
		if other {
			h ^= 1
		}
		s.data = s.half[h][at]
	}
	if s.seq.Release() {
		s.old ^= 1
		s.n--
	}
	tx, word := s.seq.Send()
	r := seq.Ready{Tx: true, Room: len(s.line) < 200}
	if tx.Valid {
		s.tx = append(s.tx, tx.Data)
		if tx.Last {
			s.tx = binary.BigEndian.AppendUint32(s.tx, crc32.ChecksumIEEE(s.tx)^word)
			s.line = s.enc.Append(s.line, s.tx)
			s.tx = s.tx[:0]
		}
	}
	req, beat := s.seq.Target()
	if req.Kind != port.None {
		beat.Valid = false
	}
	takesCpl, takesReq, takesBeat := s.seq.Takes()
	cpl, reqReady, dataReady := s.dev.Target()
	up, upBeat := s.dev.Initiator()
	r.Req, r.Beat = reqReady && req.Kind != port.None, dataReady && beat.Valid
	down := s.seq.Complete()
	s.seq.Tick(rx, r, seq.GPU{Cpl: cpl, Req: up, Beat: upBeat})
	s.dev.Tick(req, beat, takesCpl, down, takesReq, takesBeat)
	if valid {
		s.dec.Feed([]byte{in}, s)
	}
	if len(s.line) > 0 && ready {
		out, s.line, sent = s.line[0], s.line[1:], true
	}
	return out, sent
}

// fewTags is a device whose reads have tags below 32. The reference device counts on
// to 255.
type fewTags struct {
	port.Device
	tags *[32]uint8
}

func (f fewTags) Initiator() (port.Request, port.Beat) {
	req, beat := f.Device.Initiator()
	req.Tag &= 31
	return req, beat
}

func (f fewTags) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	if r, _ := f.Device.Initiator(); reqReady && r.Kind == port.MemRead {
		f.tags[r.Tag&31] = r.Tag
	}
	cpl.Tag = f.tags[cpl.Tag&31]
	f.Device.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
}

func newSequencer(t *testing.T, dev port.Device) *sequencer {
	p, err := seq.Program(seq.Options{Replay: 4})
	require.NoError(t, err)
	return &sequencer{seq: seq.New(p.Words, 25_000), dev: fewTags{dev, new([32]uint8)}, dec: frame.NewDecoder(datalink.MinFrame, 160)}
}

func TestSequencer(t *testing.T) {
	bustest.Run(t, func(t *testing.T) bustest.Fixture {
		dev := bustest.NewDevice(bustest.DeviceOptions{})
		w, err := New(newSequencer(t, dev), Options{})
		require.NoError(t, err)
		host := bustest.NewHost(8192)
		link, err := rootport.New(w.Dial, host, rootport.Options{})
		require.NoError(t, err)
		f := bustest.DeviceFixture(link, link, host, dev)
		f.Kill = w.Cut
		return f
	})
}
