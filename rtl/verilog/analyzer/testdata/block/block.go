// Package block has a module with outputs that translate and outputs that do not.
package block

// Module is a counter.
type Module struct {
	count uint8
}

// Count returns the count.
func (m *Module) Count() uint8 { return m.count }

// Third returns a third of the count. Nothing in this package calls it.
func (m *Module) Third() uint8 { return third(m.count) } // want Third:"RTL010"

func third(x uint8) uint8 { return x / 3 } // want third:"RTL010"

// Take is no output: it changes the count.
func (m *Module) Take() uint8 { // want Take:"changes its receiver"
	m.count--
	return m.count
}

// Double is called by other packages.
func Double(x uint8) uint8 { return x << 1 }

// First is called by other packages and leaves a loop early.
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
