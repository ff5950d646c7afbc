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

// ErrCheckpoint is returned, wrapped, for a checkpoint that cannot be loaded.
var ErrCheckpoint = errors.New("gpu: bad checkpoint")

// checkpointMagic begins every checkpoint; its end is the version of what
// follows.
//
//	bytes  what, little-endian
//	16     checkpointMagic
//	4      hash of the register and packet map
//	4      length of the configuration, and it as fmt prints it with %+v
//	4      words of registers, and these
//	       for each run of words of a memory, blocks of 512 words or what is
//	       left: 0 for one of zeros, or 1 and its words
//	8      CRC-64 (ECMA-182) of all before
const checkpointMagic = "hilgpu state v1\n"

// blockWords is the length of a block of a memory.
const blockWords = 512

// Save writes the whole state of the GPU, VRAM included. A GPU of the same
// configuration that loads it does from there on what g does.
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

// description is the configuration as a checkpoint has it.
func (g *GPU) description() string { return fmt.Sprintf("%+v", g.config) }

// saver writes words; w keeps the first error.
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

// Load takes the GPU to the state that Save wrote. It reads r to its end, and
// fails with ErrCheckpoint, or an error of r, if that is not a checkpoint of a GPU
// of this configuration and register map; g is then as it was.
func (g *GPU) Load(r io.Reader) error {
	c, err := New(g.config)
	if err != nil {
		return err
	}
	l := &restorer{r: bufio.NewReader(r), sum: crc64.New(crc64.MakeTable(crc64.ECMA))}
	l.text("the beginning", checkpointMagic)
	if m := l.get32(); l.err == nil && m != regmap.Hash() {
		l.fail("it is of register map %08x, this is %08x", m, regmap.Hash())
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

// restorer reads words; after the first error it reads nothing.
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

// text reads what has to be want.
func (l *restorer) text(what, want string) {
	b := make([]byte, len(want))
	l.read(b)
	if string(b) != want {
		l.fail("%s is %q, want %q", what, b, want)
	}
}

// configuration reads one, which has to be want.
func (l *restorer) configuration(want string) {
	n := l.get32()
	b := make([]byte, min(n, 1<<12))
	l.read(b)
	if l.err == nil && string(b) != want {
		l.fail("it is of configuration %s, this is %s", b, want)
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

// end reads the sum, behind which there is nothing.
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
