// Package firmware has the firmware of the microcontroller inside the GPU. It embeds the image
// that make firmware builds, checks images, and loads them.
package firmware

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
)

// Why an image is refused. Errors of Parse wrap one of them.
var (
	ErrMagic     = errors.New("firmware: not an image")
	ErrTruncated = errors.New("firmware: truncated image")
	ErrVersion   = errors.New("firmware: image of another version")
	ErrCRC       = errors.New("firmware: damaged image")
	ErrLayout    = errors.New("firmware: image for another GPU")
	ErrFormat    = errors.New("firmware: bad image")
)

// A Header is the header of an image.
type Header struct {
	Version uint32                  // of the format and the protocol
	Layout  uint32                  // hash of the layouts that the program uses
	Build   [fwabi.BuildBytes]uint8 // build id
	Size    uint32                  // bytes of the program
	Entry   uint32                  // address of the first instruction
	Memory  uint32                  // bytes that the program needs
	CRC     uint32                  // CRC-32 of the program
}

// An Image is an image that has been checked.
type Image struct {
	Header
	Program []byte
}

// Append appends an image of a program to b: the header, with the size and the CRCs of the
// program, and the program. The length of the program is a multiple of 4.
func Append(b []byte, h Header, program []byte) []byte {
	begin, le := len(b), binary.LittleEndian
	b = le.AppendUint32(b, fwabi.Magic)
	b = le.AppendUint32(b, h.Version)
	b = le.AppendUint32(b, h.Layout)
	b = append(b, h.Build[:]...)
	b = le.AppendUint32(b, uint32(len(program)))
	b = le.AppendUint32(b, h.Entry)
	b = le.AppendUint32(b, h.Memory)
	b = le.AppendUint32(b, crc32.ChecksumIEEE(program))
	b = le.AppendUint32(b, crc32.ChecksumIEEE(b[begin:]))
	return append(b, program...)
}

// Parse checks an image and returns it. The program shares the memory of data. An error wraps
// ErrMagic, ErrTruncated, ErrVersion, ErrCRC, ErrLayout or ErrFormat.
func Parse(data []byte) (Image, error) {
	field := func(off uint32) uint32 { return binary.LittleEndian.Uint32(data[off:]) }
	switch {
	case len(data) < 4:
		return Image{}, fmt.Errorf("%w: %d bytes, want at least %d", ErrTruncated, len(data), fwabi.HeaderBytes)
	case field(fwabi.HeaderMagic) != fwabi.Magic:
		return Image{}, fmt.Errorf("%w: magic %#08x, want %#08x", ErrMagic, field(fwabi.HeaderMagic), fwabi.Magic)
	case len(data) < fwabi.HeaderBytes:
		return Image{}, fmt.Errorf("%w: %d bytes, want at least %d", ErrTruncated, len(data), fwabi.HeaderBytes)
	case field(fwabi.HeaderVersion) != fwabi.Version:
		return Image{}, fmt.Errorf("%w: version %d, want %d", ErrVersion, field(fwabi.HeaderVersion), fwabi.Version)
	}
	if sum := crc32.ChecksumIEEE(data[:fwabi.HeaderCheck]); sum != field(fwabi.HeaderCheck) {
		return Image{}, fmt.Errorf("%w: CRC of the header %#08x, want %#08x", ErrCRC, sum, field(fwabi.HeaderCheck))
	}
	m := Image{Program: data[fwabi.HeaderBytes:], Header: Header{
		Version: field(fwabi.HeaderVersion), Layout: field(fwabi.HeaderLayout), Size: field(fwabi.HeaderSize),
		Entry: field(fwabi.HeaderEntry), Memory: field(fwabi.HeaderMemory), CRC: field(fwabi.HeaderCRC),
	}}
	copy(m.Build[:], data[fwabi.HeaderBuild:])
	return m, m.check()
}

// check checks the program and the fields of a header that is not damaged.
func (m Image) check() error {
	size := uint64(len(m.Program))
	if size < uint64(m.Size) {
		return fmt.Errorf("%w: program of %d bytes, want %d", ErrTruncated, size, m.Size)
	}
	if sum := crc32.ChecksumIEEE(m.Program); sum != m.CRC {
		return fmt.Errorf("%w: CRC of the program %#08x, want %#08x", ErrCRC, sum, m.CRC)
	}
	if m.Layout != fwabi.LayoutHash() {
		return fmt.Errorf("%w: layout %#08x, want %#08x", ErrLayout, m.Layout, fwabi.LayoutHash())
	}
	switch {
	case size != uint64(m.Size):
		return fmt.Errorf("%w: program of %d bytes, want %d", ErrFormat, size, m.Size)
	case m.Size == 0 || m.Size%4 != 0:
		return fmt.Errorf("%w: program of %d bytes, want a multiple of 4", ErrFormat, m.Size)
	case m.Entry != 0:
		return fmt.Errorf("%w: entry %#x, want 0", ErrFormat, m.Entry)
	case m.Memory < m.Size:
		return fmt.Errorf("%w: memory of %d bytes, want at least %d for the program", ErrFormat, m.Memory, m.Size)
	}
	return nil
}

// BuildText returns the beginning of a build id as hex digits, from its first dword as the program and
// its messages have it. It is the beginning of what Image.Build is as hex digits.
func BuildText(first uint32) string {
	return hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, first))
}
