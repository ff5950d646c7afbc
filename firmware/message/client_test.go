package message

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

// A script is a firmware that answers each doorbell with entries.
type script struct {
	area    []byte
	answers [][]uint32 // entries for each doorbell; none: nothing
	status  uint32     // MCU.STATUS
	serves  uint32     // MAIL2
	fails   error      // of accesses to the area
	rings   int
	stuck   bool   // it takes no request
	reads   int    // of MCU.STATUS
	late    int    // the read at which it takes requests again
	time    uint32 // ID.TIME
	step    uint32 // clocks from a read of the time to the next
	times   int    // reads of the time before it cannot be read; 0: all succeed
}

// errGone is why the time cannot be read.
var errGone = errors.New("gone")

func newScript(t *testing.T, answers ...[]uint32) *script {
	s := &script{area: make([]byte, 0x7000), serves: 1, answers: answers}
	require.NoError(t, Init(s, 1))
	return s
}

func (s *script) word(at uint32) uint32   { return binary.LittleEndian.Uint32(s.area[at:]) }
func (s *script) set(at uint32, v uint32) { binary.LittleEndian.PutUint32(s.area[at:], v) }

func (s *script) ReadHost(off uint32, b []byte) error {
	copy(b, s.area[off:])
	return s.fails
}

func (s *script) WriteHost(off uint32, b []byte) error {
	copy(s.area[off:], b)
	return s.fails
}

func (s *script) Read(off uint32) (uint32, error) {
	switch off {
	case mcureg.Base + mcureg.Status:
		if s.reads++; s.reads == s.late {
			s.stuck = false
			return s.status, s.Write(0, 0)
		}
		return s.status, nil
	case idreg.Base + idreg.TimeLo:
		if s.times--; s.times == 0 {
			return 0, errGone
		}
		s.time += s.step
		return s.time, nil
	}
	return s.serves, nil
}

func (s *script) Write(off, v uint32) error {
	s.rings++
	if s.stuck {
		return nil
	}
	s.set(0x40, s.word(0x20))
	if len(s.answers) == 0 {
		return nil
	}
	tail := s.word(0x44)
	for i, dword := range s.answers[0] {
		s.set(0x2000+tail%2*64+uint32(i)*4, dword)
	}
	if len(s.answers[0]) != 0 {
		s.set(0x44, tail+1)
	}
	s.answers = s.answers[1:]
	return nil
}

// hello is the answer to HELLO of session 5.
var hello = []uint32{5, 0x0c01, 1, 0xb01d, 0x380610}

func TestErrorsOfCall(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers [][]uint32
		spoil   func(s *script)
		want    string
		kind    error
	}{
		{"no answer", nil, nil, "message: no answer: after 3 reads of MCU.STATUS", ErrTimeout},
		{"hung", nil, func(s *script) { s.status = 4 }, "message: firmware hangs", ErrHung},
		{"another sequence", [][]uint32{{2, 0x0002}}, nil, "message: answer to another request: PING with sequence 2, want PING with 1", ErrSequence},
		{"another op", [][]uint32{{1, 0x0003}}, nil, "message: answer to another request: COUNTERS with sequence 1, want PING with 1", ErrSequence},
		{"a long payload", [][]uint32{{1, 0x3902}}, nil, "message: answer to another request: head 0x00003902", ErrSequence},
		{"reserved bits", [][]uint32{{1, 0x1000_0002}}, nil, "message: answer to another request: head 0x10000002", ErrSequence},
		{"a status", [][]uint32{{1, 0x90002}}, nil, "message: request refused: PING: BUSY", ErrStatus},
		{"an unknown status", [][]uint32{{1, 0xff0002}}, nil, "message: request refused: PING: status 255", ErrStatus},
		{"memory", nil, func(s *script) { s.fails = errors.New("gone") }, "message: read of the area at 0x40: gone", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript(t, append([][]uint32{hello}, tt.answers...)...)
			c, err := Open(s, s, Options{Polls: 3})
			require.NoError(t, err)
			_, err = c.Hello(5)
			require.NoError(t, err)
			if tt.spoil != nil {
				tt.spoil(s)
			}
			_, _, err = c.Call(2, nil)
			require.EqualError(t, err, tt.want)
			if tt.kind == nil {
				return
			}
			require.ErrorIs(t, err, tt.kind)
			_, _, again := c.Call(2, nil)
			assert.Error(t, again)
			if tt.kind != ErrStatus {
				assert.Equal(t, err, again, "the first cause")
			}
		})
	}
}

// An answer may take more reads than Polls while its time has not passed, also when the low half of the time overflows. The
// wait ends after both limits, and after Polls if the time stands still.
func TestPatience(t *testing.T) {
	for _, tt := range []struct {
		name string
		late int // read at which the firmware answers
		step uint32
		want string
	}{
		{"in time", 40, 10, ""},
		{"too late", 60, 10, "message: no answer: after 49 reads of MCU.STATUS"},
		{"a fast time", 4, 1 << 20, "message: no answer: after 3 reads of MCU.STATUS"},
		{"no time", 5, 0, "message: no answer: after 3 reads of MCU.STATUS"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript(t, hello, []uint32{1, 0x0002})
			s.time, s.step = 1<<32-105, tt.step
			c, err := Open(s, s, Options{Polls: 3, Clocks: 470})
			require.NoError(t, err)
			_, err = c.Hello(5)
			require.NoError(t, err)
			s.stuck, s.late = true, s.reads+tt.late
			_, _, err = c.Call(2, nil)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tt.want)
			assert.ErrorIs(t, err, ErrTimeout)
		})
	}
}

// A time that cannot be read is the first cause, at the begin of the wait and at its end.
func TestTimeFails(t *testing.T) {
	for _, times := range []int{1, 2} {
		s := newScript(t, hello)
		s.step = 10
		c, err := Open(s, s, Options{Polls: 3, Clocks: 20})
		require.NoError(t, err)
		_, err = c.Hello(5)
		require.NoError(t, err)
		s.times, s.reads = times, 0
		_, _, err = c.Call(fwabi.OpPing, nil)
		require.EqualError(t, err, "message: read of ID.TIME: gone")
		assert.ErrorIs(t, err, errGone)
		assert.Equal(t, 4*(times-1), s.reads, "reads of MCU.STATUS")
	}
}

// The longest wait ends, though its last read of the time comes late.
func TestLongestWait(t *testing.T) {
	s := newScript(t, hello)
	c, err := Open(s, s, Options{Polls: 3, Clocks: ClocksMost})
	require.NoError(t, err)
	_, err = c.Hello(5)
	require.NoError(t, err)
	s.step, s.reads = 1<<31-1, 0
	_, _, err = c.Call(fwabi.OpPing, nil)
	require.ErrorIs(t, err, ErrTimeout)
	assert.Equal(t, 5, s.reads)
}

// A request that finds no room is not sent, not even later. The client rings, since the firmware
// may wait for that.
func TestNoRoom(t *testing.T) {
	s := newScript(t)
	s.stuck = true
	c, err := Open(s, s, Options{Polls: 3})
	require.NoError(t, err)
	for sent := range uint32(2) {
		_, _, err = c.Call(fwabi.OpPing, nil)
		require.ErrorIs(t, err, ErrTimeout)
		require.Equal(t, sent+1, s.word(0x20))
		c.err = nil
	}
	rings := s.rings
	_, _, err = c.Call(fwabi.OpPing, nil)
	assert.ErrorIs(t, err, ErrTimeout)
	assert.Equal(t, uint32(2), s.word(0x20), "no third request")
	assert.Equal(t, rings+1, s.rings)
	s.stuck, s.answers = false, [][]uint32{nil, hello}
	_, err = c.Hello(5)
	require.NoError(t, err)
	assert.Equal(t, uint32(3), s.word(0x20))
	assert.Equal(t, uint32(5), s.word(0x1000), "HELLO is in the first entry")
}

// Notices keep their order, and those in the middle of a call are kept. The client rings when it
// makes room in a full ring.
func TestNotices(t *testing.T) {
	s := newScript(t, hello)
	c, err := Open(s, s, Options{Polls: 3})
	require.NoError(t, err)
	_, err = c.Hello(5)
	require.NoError(t, err)
	for i := range uint32(2) {
		s.answers = append(s.answers, []uint32{0, 0x440, 10 + i})
		require.NoError(t, s.Write(0, 0))
	}
	s.answers = [][]uint32{nil, {1, 0x0002}}
	_, _, err = c.Call(2, nil)
	require.NoError(t, err)
	assert.Equal(t, 6, s.rings, "HELLO, two of the test, the request, and room after each notice")
	got, err := c.Notices()
	require.NoError(t, err)
	assert.Equal(t, []Notice{{64, []byte{10, 0, 0, 0}}, {64, []byte{11, 0, 0, 0}}}, got)
	s.answers = [][]uint32{{9, 0x0002}}
	require.NoError(t, s.Write(0, 0))
	_, err = c.Notices()
	assert.EqualError(t, err, "message: answer to another request: PING with sequence 9, want a notice")
}

// Hello drops answers of an earlier session, and a client continues where another one stopped.
func TestSessions(t *testing.T) {
	s := newScript(t, []uint32{4, 0x0c01, 1}, hello)
	s.set(0x20, 9)
	s.set(0x40, 3)
	s.set(0x44, 7)
	c, err := Open(s, s, Options{Polls: 3})
	require.NoError(t, err)
	assert.EqualValues(t, 3, s.word(0x20), "a tail that is too far away")
	assert.EqualValues(t, 7, s.word(0x24))
	_, err = c.Hello(5)
	require.ErrorIs(t, err, ErrTimeout)
	info, err := c.Hello(5)
	require.NoError(t, err)
	assert.Equal(t, Info{1, 0xb01d, 16}, info)
	s.answers = [][]uint32{{6, 0x60001}, {7, 0x0001}}
	_, err = c.Hello(6)
	assert.EqualError(t, err, "message: request refused: HELLO: ARGUMENT")
	_, err = c.Hello(7)
	assert.EqualError(t, err, "message: answer to another request: HELLO with 0 bytes, want 12")
}

func TestBadUse(t *testing.T) {
	s := newScript(t)
	_, err := Open(s, s, Options{})
	assert.ErrorIs(t, err, ErrOptions)
	_, err = Open(s, s, Options{Polls: 1, Clocks: ClocksMost + 1})
	assert.EqualError(t, err, "message: bad options: limit of 2147483649 clocks, want at most 2147483648")
	assert.ErrorIs(t, Init(s, 7), ErrOptions)
	c, err := Open(s, s, Options{Polls: 1})
	require.NoError(t, err)
	_, err = c.Hello(0)
	assert.ErrorIs(t, err, ErrOptions)
	_, _, err = c.Call(2, make([]byte, 57))
	assert.EqualError(t, err, "message: payload too long: 57 bytes, want at most 56")
	s.serves = 0
	_, err = Open(s, s, Options{Polls: 1})
	assert.ErrorIs(t, err, ErrArea)
}
