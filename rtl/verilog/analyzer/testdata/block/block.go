// Package block has a module whose outputs are good and bad.
package block

// Module counts.
type Module struct {
	count uint8
}

// Count returns the count.
func (m *Module) Count() uint8 { return m.count }

// Third returns a part of the count; no one here calls it.
func (m *Module) Third() uint8 { return third(m.count) } // want Third:"RTL010"

func third(x uint8) uint8 { return x / 3 } // want third:"RTL010"

// Take is no output: it changes the count.
func (m *Module) Take() uint8 { // want Take:"changes its receiver"
	m.count--
	return m.count
}

// Double is a function for other packages.
func Double(x uint8) uint8 { return x << 1 }

// First is one too, and leaves a loop.
func First(x uint8) uint8 { // want First:"RTL003"
	for i := range uint8(8) {
		if x>>i&1 != 0 {
			break
		}
	}
	return x
}

// Tick is one rising clock edge.
func (m *Module) Tick(up bool) { // want Tick:"changes its receiver"
	if up {
		m.count++
	}
}

// Reset sets the registers.
func (m *Module) Reset() { m.count = 0 } // want Reset:"changes its receiver"

// Simulation returns the counts so far; it is not translated.
func (m *Module) Simulation() []uint8 { return []uint8{m.count} } // want Simulation:"RTL001"
