package link

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// cutHeaders returns writes of the host that end in their header, with any length. The difference of the sizes,
// modulo 256 or 64 dwords, is that of some of these lengths.
func cutHeaders() (all [][]byte) {
	for _, kind := range []byte{0x40, 0x60} {
		for size := 4; size <= 12; size += 4 {
			if kind == 0x40 && size == 12 {
				continue // the header is complete
			}
			for dwords := range 64 {
				p := unhex("400000000000000f00001000")
				p[0], p[3] = kind, byte(dwords)
				if dwords != 1 {
					p[7] = 0xff
				}
				all = append(all, p[:size])
			}
		}
	}
	return all
}

// TestCutHeaders: a write that ends in its header reaches no target port.
func TestCutHeaders(t *testing.T) {
	b := newBench(t, quick)
	b.open(1)
	for n, p := range cutHeaders() {
		b.send(append(number(8, uint16(n)), p...), b.epoch, 100)
		assert.Empty(t, b.reqs, "%x", p)
	}
	assert.True(t, b.m.Status().Up)
	b.send(append(number(8, uint16(len(cutHeaders()))), write...), b.epoch, 100)
	assert.Len(t, b.reqs, 1)
}

// TestSequencerCutHeaders is the same with the sequencer.
func TestSequencerCutHeaders(t *testing.T) {
	c := newCounted(t)
	for _, p := range cutHeaders() {
		c.send(append(number(8, c.next), p...), c.epoch, 100)
		c.next++
		assert.Empty(t, c.reqs, "%x", p)
	}
	c.data(0, write...)
	assert.Len(t, c.reqs, 1)
}
