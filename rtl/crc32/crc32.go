// Package crc32 computes CRC-32 in hardware, a nibble or a byte in a clock.
//
// The CRC is that of IEEE 802.3-2018 §3.2.9, reflected, as hash/crc32 of the standard
// library has it: it begins with all ones, and the result is inverted.
package crc32

// Init is the CRC before the first bit.
const Init = 0xffffffff

// poly is the polynomial, its lowest bit for x^31.
const poly = 0xedb88320

// bit returns the CRC after the lowest bit of v.
func bit(crc uint32, v uint8) uint32 {
	if (crc^uint32(v))&1 != 0 {
		return crc>>1 ^ poly
	}
	return crc >> 1
}

// Nibble returns the CRC after the low four bits of v. The low nibble of a byte is first.
func Nibble(crc uint32, v uint8) uint32 {
	for i := range 4 {
		crc = bit(crc, v>>i)
	}
	return crc
}

// Byte returns the CRC after a byte.
func Byte(crc uint32, v uint8) uint32 { return Nibble(Nibble(crc, v), v>>4) }
