package datalink

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConfig(t *testing.T) {
	for name, c := range map[string]Config{
		"packet too small":      {MaxPacket: 15},
		"packet too large":      {MaxPacket: MaxPacket + 1},
		"window not a power":    {Window: 48},
		"window too large":      {Window: 2048},
		"negative queue":        {Queue: -1},
		"replay before the ack": {ReplayMin: time.Millisecond},
		"dead before the ping":  {DeadAfter: 100 * time.Millisecond},
		"too many credits":      {Credits: Credits{{Headers: 1 << 15}}},
		"bundle too large":      {Bundle: 65534},
		"negative bundle":       {Bundle: -1},
		"less than a packet":    {Credits: Credits{{Headers: 1, Data: 16}}},
	} {
		_, err := New(c)
		assert.Error(t, err, name)
	}
	for name, c := range map[string]Config{
		"smallest packet": {MaxPacket: 16},
		"largest packet":  {MaxPacket: MaxPacket},
		"window of one":   {Window: 1},
		"largest window":  {Window: 1024},
		"largest bundle":  {Bundle: 65533},
		"most credits":    {Credits: Credits{{Headers: 1<<15 - 1}}},
		"just a packet":   {Credits: Credits{{Headers: 1, Data: 17}}},
	} {
		_, err := New(c)
		assert.NoError(t, err, name)
	}
}

func TestOpen(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  int
		drop func([]byte) bool
	}{
		{"nothing lost", 0, nil},
		{"hellos lost", 0, dropFirst(3, ofType(typeHello))},
		{"welcomes lost", 1, dropFirst(3, ofType(typeWelcome))},
		{"confirmation lost", 0, dropFirst(1, ofType(typePing))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSim(t, 1, faults{}, Config{}, Config{})
			s.wires[tt.end].drop = tt.drop
			s.open(9)
			s.up()
			require.NoError(t, s.send(0, write))
			require.NoError(t, s.send(1, write))
			s.run(100 * time.Millisecond)
			assert.Equal(t, uint64(1), s.links[0].Stats().PacketsReceived)
			assert.Equal(t, uint64(1), s.links[1].Stats().PacketsReceived)
			assert.Equal(t, uint64(1), s.links[1].Stats().Sessions)
		})
	}
}

func TestOpenFails(t *testing.T) {
	s := newSim(t, 1, faults{}, Config{}, Config{})
	assert.ErrorIs(t, s.links[0].Err(), ErrNotUp)
	s.wires[0].drop = func([]byte) bool { return true }
	s.open(9)
	assert.ErrorIs(t, s.send(0, write), ErrNotUp)
	s.run(2 * time.Second)
	assert.ErrorIs(t, s.links[0].Err(), ErrOpen)
	assert.ErrorIs(t, s.send(0, write), ErrOpen)
	assert.Equal(t, Opening, s.links[1].State())
}

func TestMapHash(t *testing.T) {
	for _, tt := range []struct {
		host, board uint32
		want        error
	}{{1, 1, nil}, {0, 1, nil}, {1, 0, nil}, {1, 2, ErrMapHash}} {
		s := newSim(t, 1, faults{}, Config{MapHash: tt.host}, Config{MapHash: tt.board})
		s.open(9)
		s.run(time.Second)
		if tt.want == nil {
			assert.Equal(t, Up, s.links[1].State())
			continue
		}
		assert.ErrorIs(t, s.links[0].Err(), tt.want)
		assert.Equal(t, Opening, s.links[1].State())
		assert.Equal(t, uint64(1), s.links[1].Stats().Refused)
	}
}

func TestVersion(t *testing.T) {
	s := newSim(t, 1, faults{}, Config{}, Config{})
	s.open(9)
	s.receive(1, seal(helloWord, unhex("5001")))
	assert.Equal(t, uint64(1), s.links[1].Stats().Refused)
	s.receive(0, seal(helloWord, unhex("6001")))
	assert.ErrorIs(t, s.links[0].Err(), ErrVersion)
}

func TestMaxPacketIsTheSmaller(t *testing.T) {
	s, _ := start(t, Config{MaxPacket: 280}, Config{MaxPacket: 152})
	for end := range 2 {
		require.Equal(t, 152, s.links[end].MaxPacket())
		assert.NoError(t, s.send(end, make([]byte, 152)))
		assert.ErrorIs(t, s.send(end, make([]byte, 153)), ErrSize)
		assert.ErrorIs(t, s.send(end, nil), ErrSize)
	}
}

// A hello of an earlier session, however late, ends no session. One of a
// restarted host does, with the first frame of its session.
func TestNewEpoch(t *testing.T) {
	s, got := start(t, Config{}, Config{})
	late := helloFrame(s.links[0], 1234, 0)
	s.receive(1, late)
	require.NoError(t, s.send(0, write))
	s.run(50 * time.Millisecond)
	require.Len(t, got[1], 1)
	require.Equal(t, Up, s.links[1].State())

	s.do(0, func(l *Link, out *Output) { l.Open(10, s.now, out) })
	s.until(time.Second, "end of the old session", func() bool { return s.links[1].State() == Down })
	assert.ErrorIs(t, s.links[1].Err(), ErrNewEpoch)
	require.NoError(t, s.send(0, write))
	s.run(5 * time.Millisecond)
	s.do(1, func(l *Link, out *Output) { l.Open(11, s.now, out) })
	require.Equal(t, Up, s.links[1].State())
	s.until(time.Second, "delivery of the packet", func() bool { return len(got[1]) == 2 })
	s.run(20 * time.Millisecond)
	frames, _ := s.links[0].InFlight()
	assert.Zero(t, frames)

	old := s.links[0].past.words[0]
	before := s.links[1].Stats().Stale
	s.receive(1, seal(old, append(unhex("8001"), write...)))
	assert.Equal(t, before+1, s.links[1].Stats().Stale)
	assert.Len(t, got[1], 2)
}

// The hello of a session that is up, or of one that has ended, is not answered.
func TestLateHello(t *testing.T) {
	s, _ := start(t, Config{}, Config{})
	l := s.links[1]
	hello := helloFrame(s.links[0], 9, 0)
	var out Output
	l.Receive(hello, s.now, &out)
	assert.Zero(t, out.Frames.Len())
	assert.Equal(t, uint64(1), l.Stats().Stale)
	assert.Equal(t, Up, l.State())

	l.Close(&out)
	l.Open(9, s.now, &out)
	out.Reset()
	l.Receive(hello, s.now, &out)
	assert.Zero(t, out.Frames.Len())
	assert.Equal(t, uint64(2), l.Stats().Stale)
}

// A peer whose datagrams cannot hold a frame gets no session.
func TestSmallDatagrams(t *testing.T) {
	for _, size := range []int{0, 1, 2 + LargestFrame(280) - 1} {
		s := newSim(t, 1, faults{}, Config{Datagram: size}, Config{Datagram: 1452})
		s.open(1)
		s.run(3 * time.Second)
		assert.NotEqual(t, Up, s.links[1].State(), "%d bytes", size)
		assert.ErrorIs(t, s.links[0].Err(), ErrOpen, "%d bytes", size)
		assert.NotZero(t, s.links[1].Stats().BadFrames)
	}
}
