package colorlighti5

import (
	"math/rand/v2"
)

// A rate is what RGMII does at the rate of a link (RGMII 2.0).
type rate struct {
	name   string
	bytes  bool  // a byte in each clock, and not a nibble
	ps     int   // of the clock
	status uint8 // in the gaps: bit 0 a link, bits 2 and 1 its rate, bit 3 full duplex
}

var (
	gigabit = rate{"1000 Mbit/s", true, 8_000, 0b1101}
	fast    = rate{"100 Mbit/s", false, 40_000, 0b1011}
	slow    = rate{"10 Mbit/s", false, 400_000, 0b1001}
)

// word returns what is on the pins in a clock: a nibble on the rising and one on the falling
// edge, and the control signal, which is dv and then dv xor er.
func word(dv, er bool, rise, fall uint8) uint16 {
	w := uint16(rise&15)<<4 | uint16(fall&15)
	if dv {
		w |= 1 << 9
	}
	if dv != er {
		w |= 1 << 8
	}
	return w
}

// gap returns the words of some bytes without a carrier.
func (r rate) gap(bytes int) []uint16 {
	n := bytes
	if !r.bytes {
		n *= 2
	}
	words := make([]uint16, n)
	for i := range words {
		words[i] = word(false, false, r.status, r.status)
	}
	return words
}

// A carrier is a frame from the preamble on, and what the PHY adds to it.
type carrier struct {
	data  []byte // after the preamble
	wrong int    // byte of data with an error of the PHY, -1 for none
}

// words returns those of a carrier with a preamble of some nibbles, an even number at a
// gigabit. At the other rates the falling edge has no meaning, and a nibble may be left over.
func (r rate) words(c carrier, preamble int, left bool, rnd *rand.Rand) []uint16 {
	var words []uint16
	data := c.data
	if r.bytes {
		for range preamble / 2 {
			words = append(words, word(true, false, 5, 5))
		}
		for i, b := range data {
			words = append(words, word(true, i == c.wrong, b, b>>4))
		}
		return words
	}
	for range preamble {
		words = append(words, word(true, false, 5, uint8(rnd.Uint32())))
	}
	for i, b := range data {
		er := i == c.wrong
		words = append(words, word(true, er, b, uint8(rnd.Uint32())), word(true, er && rnd.IntN(2) == 0, b>>4, uint8(rnd.Uint32())))
	}
	if left {
		words = append(words, word(true, false, uint8(rnd.Uint32()), uint8(rnd.Uint32())))
	}
	return words
}

// frame returns a frame of n bytes after its delimiter.
func frame(n int, rnd *rand.Rand) []byte {
	data := []byte{0xd5}
	for range n {
		data = append(data, uint8(rnd.Uint32()))
	}
	return data
}

// preambleOf returns the bytes of the preamble that the design gets: at the rates below a
// gigabit the delimiter is the first byte.
func (r rate) preambleOf(nibbles int) []byte {
	if !r.bytes {
		return nil
	}
	out := make([]byte, nibbles/2)
	for i := range out {
		out[i] = 0x55
	}
	return out
}
