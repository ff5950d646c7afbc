package gdbserver

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware/mcu"
)

// A fake is a target of which every third access fails.
type fake struct {
	count    int
	state    mcu.Cause
	detached int
}

var errFake = errors.New("fake")

func (f *fake) fail() error {
	if f.count++; f.count%3 == 0 {
		return errFake
	}
	return nil
}

func (f *fake) Halt() error   { f.state = mcu.Requested; return nil }
func (f *fake) Resume() error { f.state = mcu.None; return f.fail() }
func (f *fake) Step() error   { f.state = mcu.None; return f.fail() }
func (f *fake) Reset() error  { f.state = mcu.Requested; return f.fail() }
func (f *fake) Detach() error { f.detached++; return nil }
func (f *fake) State() (mcu.Cause, error) {
	c := f.state
	f.state = mcu.Cause(1 + f.count%6)
	f.count++
	return c, nil
}
func (f *fake) Register(int) (uint32, error)       { return 1, f.fail() }
func (f *fake) SetRegister(int, uint32) error      { return f.fail() }
func (f *fake) PC() (uint32, error)                { return 4, f.fail() }
func (f *fake) SetPC(uint32) error                 { return f.fail() }
func (f *fake) CSR(uint16) (uint32, error)         { return 2, f.fail() }
func (f *fake) SetCSR(uint16, uint32) error        { return f.fail() }
func (f *fake) SetBreakpoint(uint32) error         { return f.fail() }
func (f *fake) ClearBreakpoint(uint32) error       { return f.fail() }
func (f *fake) SetWatchpoint(uint32, uint32) error { return f.fail() }
func (f *fake) ClearWatchpoint() error             { return f.fail() }
func (f *fake) ReadMemory(_ uint32, p []byte) (int, error) {
	err := f.fail()
	if err != nil {
		return len(p) / 2, err
	}
	return len(p), nil
}
func (f *fake) WriteMemory(_ uint32, p []byte) (int, error) { return len(p), f.fail() }

// converse gives a stream to a session with a fake, and checks the form of all it sends.
func converse(t *testing.T, stream []byte) {
	t.Helper()
	f := &fake{}
	in, done := make(chan message), make(chan struct{})
	defer close(done)
	go receive(bytes.NewReader(stream), in, done)
	var out bytes.Buffer
	s := &session{target: f, free: func() {}, to: &out, messages: in, breaks: map[uint32]breakKind{}}
	err := s.serve()
	if !s.ended {
		require.ErrorIs(t, err, errLost)
		assert.Equal(t, 1, f.detached)
	}
	rest := out.String()
	for _, m := range messages(t, rest) {
		assert.NotEqual(t, broken, m.kind, "%q", rest)
		assert.LessOrEqual(t, len(m.data), maxPacket)
	}
}

// A writer gives what is written to a function.
type writer func(b []byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }

// The next client may connect before a detach is answered.
func TestDetachFrees(t *testing.T) {
	freed, answered := false, false
	s := &session{target: &fake{}, free: func() { freed = true }, quiet: true, to: writer(func(b []byte) {
		answered = true
		assert.Equal(t, "$OK#9a", string(b))
		assert.True(t, freed)
	})}
	s.request("D")
	assert.True(t, answered)
}

// seeds returns packets of all kinds.
func seeds() []string {
	return []string{
		"?", "g", "G" + strings.Repeat("00", 132), "p20", "p341", "P1=01020304", "m0,4", "m0,ffffffff", "M0,2:0102", "X0,0:", "X0,2:}]a",
		"Z0,4,4", "Z1,4,4", "Z2,100,4", "Z3,0,1", "z0,4,4", "z2,100,4", "c", "c4", "s", "C05", "S05;4", "vCont?", "vCont;c", "vCont;s:1;c", "vCont;t",
		"D", "k", "Hg0", "Hc-1", "T1", "qSupported:swbreak+;hwbreak+;error-message+", "QStartNoAckMode", "qAttached", "qC", "qfThreadInfo",
		"qXfer:features:read:target.xml:0,fff", "qXfer:features:read::", "qRcmd,7265736574", "qRcmd,zz", "vMustReplyEmpty", "!", "",
	}
}

// No stream of bytes stops the server, and each answer is a packet.
func FuzzSession(f *testing.F) {
	for _, s := range seeds() {
		f.Add(append(packet(s), packet("c")...))
	}
	f.Fuzz(func(t *testing.T, stream []byte) { converse(t, stream) })
}

// Random sequences of packets, some of them changed, do not stop it either.
func TestRandomPackets(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(21, seed))
		var stream []byte
		for range 30 {
			s := []byte(seeds()[r.IntN(len(seeds()))])
			for len(s) > 0 && r.IntN(3) == 0 {
				s[r.IntN(len(s))] = byte(r.Uint32())
			}
			b := packet(string(s))
			if r.IntN(8) == 0 {
				b[r.IntN(len(b))] = byte(r.Uint32())
			}
			if r.IntN(8) == 0 {
				b = append(b, 0x03)
			}
			stream = append(stream, b...)
		}
		converse(t, stream)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
