package pins

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/eth/mac"
)

// A beacon sends the same frame again and again, and counts the bytes that it receives.
type beacon struct {
	frame    []mac.Symbol
	at       int
	received int
}

func newBeacon() *beacon {
	line := []byte{preamble, preamble, preamble, preamble, preamble, preamble, preamble, delimiter}
	body := make([]byte, mac.MinFrame-mac.FCSBytes)
	line = append(line, body...)
	line = binary.LittleEndian.AppendUint32(line, crc32.ChecksumIEEE(body))
	b := &beacon{}
	for i, data := range line {
		b.frame = append(b.frame, mac.Symbol{Enable: true, Last: i == len(line)-1, Data: data})
	}
	b.frame = append(b.frame, make([]mac.Symbol, mac.GapBytes)...)
	return b
}

func (b *beacon) Run(rx []mac.Byte, tx []mac.Symbol) error {
	for i := range rx {
		if rx[i].Valid {
			b.received++
		}
		tx[i] = b.frame[b.at]
		b.at = (b.at + 1) % len(b.frame)
	}
	return nil
}

func (b *beacon) Reset() error { return nil }

// While the cable is out, no frame passes in either direction. One that began before the cable is in again is lost.
func TestCableIsOut(t *testing.T) {
	b := newBeacon()
	e := NewEther(b, EtherFaults{Unplug: 1, Seed: 1})
	e.Send(make([]byte, 100))
	assert.EqualValues(t, 1, e.Faulty().Unplugs)
	in := e.faults.in
	assert.GreaterOrEqual(t, in, uint64(10*leastFrame))
	first := uint64(0)
	for first == 0 && e.now < in+10*leastFrame {
		if e.now%1000 == 0 && e.now+Delay < in {
			e.Send(make([]byte, 100))
		}
		if e.Tick() != nil {
			first = e.now
		}
	}
	assert.Zero(t, b.received)
	assert.EqualValues(t, 1, e.Faulty().Unplugs, "it is out once")
	assert.Greater(t, first, in+uint64(mac.MinFrame))
	assert.LessOrEqual(t, first, in+3*leastFrame)
	e.faults.opt.Unplug = 0
	e.Send(make([]byte, 100))
	for range 10 * leastFrame {
		e.Tick()
	}
	assert.Greater(t, b.received, 100)
}
