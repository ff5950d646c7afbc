package gpu_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc64"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// A twin is a GPU and a second one that was loaded from its checkpoint. Both get the same
// inputs and are compared at each clock: ports and all registers, and sometimes all
// memories. The checkpoint is loaded again at random clocks, after the second GPU has
// been changed.
type twin struct {
	m     *machine
	a, b  *gpu.GPU
	loads int
	words [2][]uint64
}

func newTwin(m *machine) *twin {
	w := &twin{m: m, a: m.g, b: working(m.t, m.g.Config()).g}
	w.words[0], w.words[1] = make([]uint64, gpu.GPUWords), make([]uint64, gpu.GPUWords)
	w.load()
	return w
}

func (w *twin) load() {
	var file bytes.Buffer
	require.NoError(w.m.t, w.a.Save(&file))
	require.NoError(w.m.t, w.b.Load(&file))
	require.Equal(w.m.t, w.a.Hash(), w.b.Hash())
	w.loads++
}

func (w *twin) compare() {
	w.a.Snapshot(w.words[0])
	w.b.Snapshot(w.words[1])
	require.Equal(w.m.t, w.words[0], w.words[1], "clock %d", w.m.clock)
	require.Equal(w.m.t, w.a.IdleFor(), w.b.IdleFor(), "clock %d", w.m.clock)
	switch w.m.rng.IntN(100) {
	case 0:
		require.Equal(w.m.t, w.a.Hash(), w.b.Hash(), "clock %d", w.m.clock)
	case 1:
		// Loading replaces the second GPU's earlier state.
		w.b.PokeVRAM(0, []byte{1, 2, 3})
		w.load()
	}
}

func (w *twin) Target() (cpl port.Completion, reqReady, dataReady bool) {
	cpl, reqReady, dataReady = w.a.Target()
	c, r, d := w.b.Target()
	require.Equal(w.m.t, cpl, c)
	require.Equal(w.m.t, [2]bool{reqReady, dataReady}, [2]bool{r, d})
	return cpl, reqReady, dataReady
}

func (w *twin) Initiator() (req port.Request, beat port.Beat) {
	req, beat = w.a.Initiator()
	r, b := w.b.Initiator()
	require.Equal(w.m.t, req, r)
	require.Equal(w.m.t, beat, b)
	return req, beat
}

func (w *twin) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	w.a.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
	w.b.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
	w.compare()
}

// PokeVRAM changes the VRAM of both GPUs.
func (w *twin) PokeVRAM(off uint64, p []byte) {
	w.a.PokeVRAM(off, p)
	w.b.PokeVRAM(off, p)
}

func (w *twin) IdleFor() uint64 { return w.a.IdleFor() }

func (w *twin) Skip(n uint64) {
	w.a.Skip(n)
	w.b.Skip(n)
	w.compare()
}

// A GPU loaded from a checkpoint of any clock of random work continues exactly like the
// original.
func TestCheckpoint(t *testing.T) {
	for seed := range uint64(6) {
		g := newRig(t, 100+seed, false)
		w := newTwin(g.machine)
		g.dev = w
		for rounds := 0; rounds < 3 || w.loads <= 5; rounds++ {
			g.round()
		}
		require.Equal(t, w.a.Hash(), w.b.Hash())
	}
}

// Equal states have equal hashes, and a change of any bit changes the hash.
func TestHash(t *testing.T) {
	m := working(t, small())
	c := m.g.Clone()
	want := m.g.Hash()
	require.Equal(t, want, c.Hash())
	c.PokeVRAM(12345, []byte{1})
	assert.NotEqual(t, want, c.Hash())
	require.Equal(t, want, m.g.Hash(), "the clone must be independent")
	words := make([]uint64, gpu.GPUWords)
	for i := range words {
		m.g.Snapshot(words)
		words[i] ^= 1
		c = m.g.Clone()
		c.Restore(words)
		assert.NotEqual(t, want, c.Hash(), "word %d", i)
	}
}

// sealed returns a file with its checksum appended.
func sealed(p []byte) []byte {
	sum := crc64.Checksum(p, crc64.MakeTable(crc64.ECMA))
	return binary.LittleEndian.AppendUint64(p[:len(p):len(p)], sum)
}

// A bad checkpoint gives one error and changes nothing.
func TestBadCheckpoints(t *testing.T) {
	m := working(t, oneNode())
	var file bytes.Buffer
	require.NoError(t, m.g.Save(&file))
	good := file.Bytes()
	body := good[:len(good)-8]
	require.Equal(t, sealed(body), good)
	with := func(at int, v ...byte) []byte {
		p := bytes.Clone(body)
		copy(p[at:], v)
		return sealed(p)
	}
	config := len("hilgpu state v1\n") + 4
	registers := config + 4 + int(binary.LittleEndian.Uint32(good[config:])) + 4
	signal := func(name string) int {
		for i, s := range m.g.Signals("gpu", nil) {
			if s.Name == name {
				return registers + 8*i
			}
		}
		require.Fail(t, name)
		return 0
	}
	for name, tt := range map[string]struct {
		file []byte
		says string
	}{
		"empty":                      {nil, "it ends early"},
		"another version":            {with(14, '2'), `the beginning is "hilgpu state v2\n", want "hilgpu state v1\n"`},
		"another register map":       {with(16, 1, 2, 3, 4), "it is of register map 04030201"},
		"another configuration":      {with(config+11, '2'), "it is of configuration {Nodes:2"},
		"a configuration of 4 GiB":   {with(config, 255, 255, 255, 255), "it is of configuration"},
		"another count of registers": {with(registers-4, 1, 0, 0, 0), "it has 1 registers"},
		"an undefined state":         {with(signal("gpu.cp0.decode_state"), 255), "gpu.cp0.decode_state is 0xff"},
		"too many bits":              {with(signal("gpu.cp0.ring_rptr")+3, 1), "gpu.cp0.ring_rptr is 0x1"},
		"a FIFO fuller than full":    {with(signal("gpu.dma.queue.count"), 5), "gpu.dma.queue.count is 0x5"},
		"a block of a third kind":    {with(registers+8*gpu.GPUWords, 9), "a block of kind 9"},
		"a bit of VRAM":              {append(with(len(body) - 1)[:len(body)], 1, 2, 3, 4, 5, 6, 7, 8), "its sum is 0807060504030201"},
		"trailing bytes":             {append(bytes.Clone(good), 0), "something follows it"},
		"cut in the sum":             {good[:len(good)-1], "it ends early"},
		"cut in a memory":            {good[:len(good)-3000], "it ends early"},
	} {
		before := m.g.Hash()
		err := m.g.Load(bytes.NewReader(tt.file))
		require.ErrorIs(t, err, gpu.ErrCheckpoint, name)
		assert.Contains(t, err.Error(), tt.says, name)
		assert.Equal(t, 1, strings.Count(err.Error(), "gpu: bad checkpoint"), name)
		require.Equal(t, before, m.g.Hash(), name)
	}
	broken := errors.New("no disk")
	err := m.g.Load(io.MultiReader(bytes.NewReader(good[:300]), iotest.ErrReader(broken)))
	assert.ErrorIs(t, err, broken)
	assert.NotErrorIs(t, err, gpu.ErrCheckpoint)
	assert.ErrorIs(t, m.g.Save(failing{}), errWrite)
	require.NoError(t, m.g.Load(bytes.NewReader(good)))
}

// The checkpoint of unwritten VRAM is small.
func TestCheckpointOfEmptyVRAMIsSmall(t *testing.T) {
	g, err := gpu.New(gpu.Default())
	require.NoError(t, err)
	var file bytes.Buffer
	require.NoError(t, g.Save(&file))
	assert.Less(t, file.Len(), 20_000)
}
