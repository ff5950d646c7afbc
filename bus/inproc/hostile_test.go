package inproc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// A script is a device that drives its ports row by row: each row when the one
// before was taken. It completes configuration reads with 0 when answers is
// set.
type script struct {
	cpls  []port.Completion
	reqs  []port.Request
	beats []port.Beat

	taken   []port.Request
	stuck   bool // takes no request
	noBeats bool // takes no beat
	order   []string
}

func (s *script) Target() (cpl port.Completion, reqReady, dataReady bool) {
	if len(s.cpls) > 0 {
		cpl = s.cpls[0]
	}
	return cpl, !s.stuck, !s.noBeats
}

func (s *script) Initiator() (req port.Request, beat port.Beat) {
	if len(s.reqs) > 0 {
		req = s.reqs[0]
	}
	if len(s.beats) > 0 {
		beat = s.beats[0]
	}
	return req, beat
}

func (s *script) Tick(req port.Request, _ port.Beat, cplReady bool, _ port.Completion, reqReady, dataReady bool) {
	if req.Kind != port.None && !s.stuck {
		s.taken = append(s.taken, req)
	}
	if cplReady {
		s.cpls = s.cpls[1:]
		s.order = append(s.order, "completion")
	}
	if dataReady {
		s.beats = s.beats[1:]
		s.order = append(s.order, "beat")
	}
	if reqReady {
		s.reqs = s.reqs[1:]
		s.order = append(s.order, "header")
	}
}

func (s *script) IdleFor() uint64 { return 0 }
func (s *script) Skip(uint64)     {}

// TestProtocol: any violation of the port rules by a device takes the link down
// for good and delivers no data.
func TestProtocol(t *testing.T) {
	cpl := func(tag uint8, s port.Status, last bool) port.Completion {
		return port.Completion{Tag: tag, Status: s, Last: last}
	}
	write := port.Request{Kind: port.MemWrite, Len: 4, Addr: 1 << 20}
	beat := func(last bool, enable uint8) port.Beat { return port.Beat{Valid: true, Last: last, Enable: enable} }
	for _, tt := range []struct {
		name string
		dev  script
		says string
	}{
		{"unexpected completion", script{cpls: []port.Completion{cpl(9, port.CplSuccess, true)}}, "unexpected completion with tag 9"},
		{"completion without end", script{cpls: []port.Completion{cpl(0, port.CplSuccess, false)}}, "completion 1 of 1 of tag 0 has last false"},
		{"failed completion continues", script{cpls: []port.Completion{cpl(0, port.CplAbort, false)}}, "status 3, last false"},
		{"no such status", script{cpls: []port.Completion{cpl(0, 7, true)}}, "status 7, last true"},
		{"request of no dwords", script{reqs: []port.Request{{Kind: port.MemRead, Addr: 1 << 20}}}, "0 dwords"},
		{"request of 33 dwords", script{reqs: []port.Request{{Kind: port.MemRead, Len: 33, Addr: 1 << 20}}}, "33 dwords"},
		{"request crosses 128 bytes", script{reqs: []port.Request{{Kind: port.MemRead, Len: 2, Addr: 124}}}, "2 dwords at 0x7c"},
		{"request is not aligned", script{reqs: []port.Request{{Kind: port.MemRead, Len: 1, Addr: 2}}}, "at 0x2"},
		{"request wraps", script{reqs: []port.Request{{Kind: port.MemRead, Len: 2, Addr: 1<<64 - 4}}}, "2 dwords"},
		{"configuration request", script{reqs: []port.Request{{Kind: port.CfgRead, Len: 1}}}, "kind 3"},
		{"write ends early", script{reqs: []port.Request{write}, beats: []port.Beat{beat(true, 0xff)}}, "beat 0 of a write of 4 dwords at 0x100000 has last true"},
		{"write ends late", script{reqs: []port.Request{write}, beats: []port.Beat{beat(false, 0xff), beat(false, 0xff)}}, "has last false"},
		{"byte before the write", script{reqs: []port.Request{{Kind: port.MemWrite, Len: 1, Addr: 4}}, beats: []port.Beat{beat(true, 0xf8)}}, "outside"},
		{"byte after the write", script{reqs: []port.Request{{Kind: port.MemWrite, Len: 1, Addr: 0}}, beats: []port.Beat{beat(true, 0x1f)}}, "outside"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			link, err := inproc.New(&tt.dev, bustest.NewHost(4096), inproc.Options{Latency: 4})
			require.NoError(t, err)
			_, err = link.ReadConfig(0)
			require.ErrorIs(t, err, bus.ErrLinkDown)
			assert.ErrorIs(t, err, inproc.ErrProtocol)
			assert.ErrorContains(t, err, tt.says)
			assert.Equal(t, err, link.WriteConfig(0, 0))
		})
	}
}

// TestUpstreamOrder presents a write and a completion in the same clock, and
// then a stream of writes with a completion among them.
func TestUpstreamOrder(t *testing.T) {
	w := func(addr uint64) port.Request { return port.Request{Kind: port.MemWrite, Len: 2, Addr: addr} }
	beat := port.Beat{Valid: true, Last: true, Enable: 0xff}
	dev := &script{
		reqs:  []port.Request{w(0), w(8), w(16), w(24)},
		beats: []port.Beat{beat, beat, beat, beat},
		cpls:  []port.Completion{{Tag: 0, Status: port.CplSuccess, Last: true}},
	}
	link, err := inproc.New(dev, bustest.NewHost(4096), inproc.Options{})
	require.NoError(t, err)
	_, err = link.ReadConfig(0)
	require.NoError(t, err)
	// The completion follows the write that appeared in the same clock. The
	// header of the next write appeared later and waits for the completion.
	assert.Equal(t, []string{"beat", "header", "completion"}, dev.order[:3])
}

// TestTimeout: a read from a silent device fails after the time-out, in virtual
// time, and a late completion is dropped.
func TestTimeout(t *testing.T) {
	dev := &script{}
	link, err := inproc.New(dev, bustest.NewHost(4096), inproc.Options{Timeout: 5000})
	require.NoError(t, err)
	start := link.Now()
	_, err = link.ReadConfig(pcicfg.BAR2)
	require.ErrorIs(t, err, bus.ErrTimeout)
	assert.NotErrorIs(t, err, bus.ErrLinkDown)
	assert.ErrorContains(t, err, "no completion for 5000 clocks")
	assert.EqualValues(t, 5000, link.Now()-start)

	late, answer := port.Completion{Status: port.CplSuccess, Last: true, Data: 0xbad}, port.Completion{Tag: 1, Status: port.CplSuccess, Last: true, Data: 0x900d}
	dev.cpls = []port.Completion{late, answer}
	v, err := link.ReadConfig(pcicfg.BAR2)
	require.NoError(t, err)
	assert.EqualValues(t, 0x900d, v)
}

// TestLostTags: the link goes down when all tags wait for late completions.
func TestLostTags(t *testing.T) {
	link, err := inproc.New(&script{}, bustest.NewHost(4096), inproc.Options{Timeout: 50})
	require.NoError(t, err)
	for range 256 {
		_, err = link.ReadConfig(0)
		require.ErrorIs(t, err, bus.ErrTimeout)
		require.NotErrorIs(t, err, bus.ErrLinkDown)
	}
	_, err = link.ReadConfig(0)
	require.ErrorIs(t, err, bus.ErrLinkDown)
	assert.ErrorIs(t, err, bus.ErrTimeout)
}

// TestStuck: writes to a device that accepts nothing fill the wire. Then the
// link goes down, because part of a write is on the wire.
func TestStuck(t *testing.T) {
	for _, tt := range []struct {
		name string
		dev  script
		size int
	}{
		{"no headers", script{stuck: true}, 128},
		{"no headers of dwords", script{stuck: true}, 4},
		{"no beats", script{noBeats: true}, 128},
		{"no beats of dwords", script{noBeats: true}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.dev.cpls = make([]port.Completion, 6)
			for i := range tt.dev.cpls {
				tt.dev.cpls[i] = port.Completion{Tag: uint8(i), Status: port.CplSuccess, Last: true}
			}
			link, err := inproc.New(&tt.dev, bustest.NewHost(4096), inproc.Options{Timeout: 500, Tags: 8})
			require.NoError(t, err)
			for n := 0; err == nil && n < 1000; n++ {
				err = link.Write(0, 0, make([]byte, tt.size))
			}
			require.ErrorIs(t, err, bus.ErrLinkDown)
			assert.ErrorIs(t, err, bus.ErrTimeout)
			assert.ErrorContains(t, err, "accepts no request for 500 clocks")
		})
	}
}

// TestSplit checks the requests that make up a read.
func TestSplit(t *testing.T) {
	d, host := bustest.NewDevice(bustest.DeviceOptions{}), bustest.NewHost(4096)
	var got [][2]uint64
	link, err := inproc.New(d, host, inproc.Options{Observer: func(x inproc.Transaction) {
		if x.Dir == inproc.Down && x.Req.Kind == port.MemRead {
			got = append(got, [2]uint64{x.Req.Addr - bustest.Base2, uint64(x.Req.Len)})
		}
	}})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	require.NoError(t, link.Read(2, 100, make([]byte, 300)))
	assert.Equal(t, [][2]uint64{{100, 7}, {128, 32}, {256, 32}, {384, 4}}, got)
}

// TestTagsInFlight counts the requests in flight at one time.
func TestTagsInFlight(t *testing.T) {
	for _, tags := range []int{1, 3, 8} {
		d, host := bustest.NewDevice(bustest.DeviceOptions{}), bustest.NewHost(4096)
		out, most := 0, 0
		link, err := inproc.New(d, host, inproc.Options{Tags: tags, Observer: func(x inproc.Transaction) {
			switch {
			case x.Req.Kind == port.MemWrite:
			case x.Dir == inproc.Down:
				out++
			default:
				out--
			}
			most = max(most, out)
		}})
		require.NoError(t, err)
		require.NoError(t, bustest.Enumerate(link))
		require.NoError(t, link.Read(2, 0, make([]byte, 4096)))
		assert.Equal(t, tags, most)
		assert.Zero(t, out)
	}
}
