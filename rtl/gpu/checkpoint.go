package gpu

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc64"
	"io"

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// ErrCheckpoint is wrapped by the error for a checkpoint that cannot be loaded.
var ErrCheckpoint = errors.New("gpu: bad checkpoint")

// checkpointMagic begins every checkpoint. It ends with the version of the
// format.
//
//	bytes  contents, little-endian
//	16     checkpointMagic
//	4      hash of the register and packet map
//	4      length of the configuration, then the configuration as printed by %+v
//	4      number of register words, then the words
//	       for each run of words of a memory, blocks of 512 words, the last one
//	       shorter: 0 for a block of zeros, or 1 and its words
//	8      CRC-64 (ECMA-182) of everything before
const checkpointMagic = "hilgpu state v1\n"

// blockWords is the length of a block of a memory.
const blockWords = 512

// Save writes the complete state of the GPU, including VRAM. A GPU of the same
// configuration that loads it continues exactly as g does.
func (g *GPU) Save(w io.Writer) error {
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	s := &saver{w: bufio.NewWriter(io.MultiWriter(w, sum))}
	s.w.WriteString(checkpointMagic)
	s.put32(regmap.Hash())
	config := g.description()
	s.put32(uint32(len(config)))
	s.w.WriteString(config)
	words := make([]uint64, GPUWords)
	g.Snapshot(words)
	s.put32(GPUWords)
	s.put(words)
	g.Memories(s)
	if err := s.w.Flush(); err != nil {
		return err
	}
	_, err := w.Write(binary.LittleEndian.AppendUint64(nil, sum.Sum64()))
	return err
}

// description is the configuration in the format of a checkpoint.
func (g *GPU) description() string { return fmt.Sprintf("%+v", g.config) }

// saver writes words to w, which keeps the first error.
type saver struct {
	hdl.Scratch
	w *bufio.Writer
}

func (s *saver) put32(v uint32) { s.w.Write(binary.LittleEndian.AppendUint32(nil, v)) }

func (s *saver) put(p []uint64) {
	var b [8]byte
	for _, v := range p {
		binary.LittleEndian.PutUint64(b[:], v)
		s.w.Write(b[:])
	}
}

// Words implements hdl.Visitor.
func (s *saver) Words(p []uint64) {
	for len(p) > 0 {
		block := p[:min(len(p), blockWords)]
		p = p[len(block):]
		if zero(block) {
			s.w.WriteByte(0)
			continue
		}
		s.w.WriteByte(1)
		s.put(block)
	}
}

func zero(p []uint64) bool {
	for _, v := range p {
		if v != 0 {
			return false
		}
	}
	return true
}

// Load restores the state that Save wrote. It reads r to its end. It fails with
// ErrCheckpoint, or an error of r, if r is not a checkpoint of a GPU of this
// configuration and register map. On failure g is unchanged.
func (g *GPU) Load(r io.Reader) error {
	c, err := New(g.config)
	if err != nil {
		return err
	}
	l := &restorer{r: bufio.NewReader(r), sum: crc64.New(crc64.MakeTable(crc64.ECMA))}
	l.text("the beginning", checkpointMagic)
	if m := l.get32(); l.err == nil && m != regmap.Hash() {
		l.fail("it is of register map %08x, want %08x", m, regmap.Hash())
	}
	l.configuration(g.description())
	if n := l.get32(); l.err == nil && n != GPUWords {
		l.fail("it has %d registers, want %d", n, GPUWords)
	}
	words := make([]uint64, GPUWords)
	l.get(words)
	for i, s := range c.Signals("gpu", nil) {
		if l.err == nil && !s.Holds(words[i]) {
			l.fail("%s is %#x", s.Name, words[i])
		}
	}
	c.Restore(words)
	c.Memories(l)
	l.end()
	if l.err != nil {
		return l.err
	}
	*g = *c
	return nil
}

// restorer reads words. After the first error it reads nothing.
type restorer struct {
	hdl.Scratch
	r   *bufio.Reader
	sum hash.Hash64
	err error
}

func (l *restorer) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf("%w: %s", ErrCheckpoint, fmt.Sprintf(format, args...))
	}
}

// read fills p, with zeros after an error.
func (l *restorer) read(p []byte) {
	if l.err == nil {
		_, err := io.ReadFull(l.r, p)
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			l.fail("it ends early")
		case err != nil:
			l.err = err
		}
		l.sum.Write(p)
	}
	if l.err != nil {
		clear(p)
	}
}

func (l *restorer) get32() uint32 {
	var b [4]byte
	l.read(b[:])
	return binary.LittleEndian.Uint32(b[:])
}

func (l *restorer) get(p []uint64) {
	var b [8]byte
	for i := range p {
		l.read(b[:])
		p[i] = binary.LittleEndian.Uint64(b[:])
	}
}

// text reads a string that must equal want.
func (l *restorer) text(what, want string) {
	b := make([]byte, len(want))
	l.read(b)
	if string(b) != want {
		l.fail("%s is %q, want %q", what, b, want)
	}
}

// configuration reads a configuration, which must equal want.
func (l *restorer) configuration(want string) {
	n := l.get32()
	b := make([]byte, min(n, 1<<12))
	l.read(b)
	if l.err == nil && string(b) != want {
		l.fail("it is of configuration %s, want %s", b, want)
	}
}

// Words implements hdl.Visitor.
func (l *restorer) Words(p []uint64) {
	for len(p) > 0 && l.err == nil {
		block := p[:min(len(p), blockWords)]
		p = p[len(block):]
		var kind [1]byte
		l.read(kind[:])
		switch kind[0] {
		case 0:
			clear(block)
		case 1:
			l.get(block)
		default:
			l.fail("a block of kind %d", kind[0])
		}
	}
}

// end reads the checksum, which must be the end.
func (l *restorer) end() {
	want := l.sum.Sum64()
	var b [8]byte
	l.read(b[:])
	if got := binary.LittleEndian.Uint64(b[:]); l.err == nil && got != want {
		l.fail("its sum is %016x, want %016x", got, want)
	}
	if _, err := l.r.ReadByte(); l.err == nil && err != io.EOF {
		l.fail("something follows it")
	}
}
