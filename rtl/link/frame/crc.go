// Package frame has the frames of a link in hardware: their delimiters and stuffing, as
// in package bus/frame of the host, and their checks.
package frame

// poly is the polynomial of CRC-32, reflected (IEEE 802.3-2018 §3.2.9).
const poly = 0xedb88320

// step is one bit of a CRC-32: the lowest one of v.
func step(crc uint32, v uint8) uint32 {
	if (crc^uint32(v))&1 != 0 {
		return crc>>1 ^ poly
	}
	return crc >> 1
}
