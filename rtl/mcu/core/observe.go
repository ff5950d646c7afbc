package core

// Word returns a word of the memory outside of any clock.
func (m *Module) Word(i uint32) uint32 { return uint32(m.ram.Word(i)) }

// SetWord sets a word of the memory outside of any clock.
func (m *Module) SetWord(i, v uint32) { m.ram.SetWord(i, uint64(v)) }
