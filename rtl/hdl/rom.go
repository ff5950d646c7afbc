package hdl

// ROM is a synchronous memory that is never written. An FPGA loads its words with the
// bitstream.
//
//	In      read enable and word address
//	Out     the word of the last enabled read, held until the next one
//	Timing  1 clock from address to data; a read in every clock
//	Reset   none, as in a block RAM: the output is kept. After a reset of the owner
//	        it is meaningless until the next read
//	Paths   none
//	Faults  an address outside the memory is an assertion
type ROM struct {
	words []uint64
	width int // of a word in bits
	q     uint64
}

// NewROM returns a memory with the given words, each of width bits, 1 to 64. It keeps
// words.
func NewROM(width int, words []uint64) ROM {
	Assert(width >= 1 && width <= 64, "ROM: the width is not 1 to 64 bits")
	for _, w := range words {
		Assert(w>>(width-1)>>1 == 0, "ROM: a word has more bits than the memory")
	}
	return ROM{words: words, width: width}
}

// Out returns the word of the last read.
func (m *ROM) Out() uint64 { return m.q }

// Tick is one rising clock edge.
func (m *ROM) Tick(read bool, addr uint32) {
	if read {
		m.q = m.words[addr]
	}
}

// Len returns the number of words.
func (m *ROM) Len() int { return len(m.words) }
