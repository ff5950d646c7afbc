package rootport_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// An echo is a port whose device completes each read of one dword, or
// configuration read, with zeros. It does not allocate.
type echo struct {
	now   time.Duration
	reply [16]byte
	due   bool
}

func (e *echo) Send(p []byte) error {
	if p[0]&0x40 == 0 {
		e.reply = [16]byte{0: 0x4a, 3: 1, 4: 1, 7: 4, 10: p[6]}
		if p[0] == 0 {
			e.reply[11] = p[11] & 0x7c
		}
		e.due = true
	}
	return nil
}

func (e *echo) Receive(timeout time.Duration) ([]byte, error) {
	if !e.due {
		e.now += timeout
		return nil, nil
	}
	e.due = false
	e.now++
	return e.reply[:], nil
}

func (e *echo) Now() time.Duration      { return e.now }
func (e *echo) Close() error            { return nil }
func (e *echo) Interrupt()              {}
func (e *echo) Flush()                  {}
func (e *echo) Ahead(int) time.Duration { return 0 }
func (e *echo) MaxPacket() int          { return tlp.MaxSize }

func openEcho(t testing.TB) *rootport.RootPort {
	r, err := rootport.New(func() (rootport.Port, error) { return &echo{}, nil }, bustest.NewHost(64), rootport.Options{})
	require.NoError(t, err)
	return r
}

// TestNoAllocation: reads and writes of a register do not allocate.
func TestNoAllocation(t *testing.T) {
	r := openEcho(t)
	p := make([]byte, 4)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if r.Read(0, 0x10, p) != nil || r.Write(0, 0x10, p) != nil {
			panic("echo")
		}
	}))
}

// BenchmarkRead32 measures a register read in the transaction layer only.
func BenchmarkRead32(b *testing.B) {
	r := openEcho(b)
	p := make([]byte, 4)
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Read(0, 0x10, p); err != nil {
			b.Fatal(err)
		}
	}
}
