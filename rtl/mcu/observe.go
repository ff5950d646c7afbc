package mcu

// Word returns a word of the memory outside of any clock.
func (m *Module) Word(i uint32) uint32 { return m.core.Word(i) }

// SetWord sets a word of the memory outside of any clock.
func (m *Module) SetWord(i, v uint32) { m.core.SetWord(i, v) }
