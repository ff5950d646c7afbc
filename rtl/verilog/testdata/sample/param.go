package sample

// Offset adds a parameter to its input.
type Offset struct {
	Sum uint16
	by  uint16
}

// NewOffset returns a module with the parameter by.
func NewOffset(by uint16) Offset { return Offset{by: by} }

// Tick is one rising clock edge.
func (m *Offset) Tick(a uint8) { m.Sum = uint16(a) + m.by }

// Reset sets the register.
func (m *Offset) Reset() { m.Sum = 0 }

// Part is a module whose output needs the value of a parameter.
type Part struct {
	Sum   uint16
	parts uint16
}

// NewPart returns a module with the parameter parts, a power of two.
func NewPart(parts uint16) Part { return Part{parts: parts} }

// Out returns a part of the register.
func (m *Part) Out() uint16 { return m.Sum / m.parts }

// Tick is one rising clock edge.
func (m *Part) Tick(a uint8) { m.Sum = uint16(a) << 3 }

// Reset sets the register.
func (m *Part) Reset() { m.Sum = 0 }

// Repeat adds its input once or twice.
type Repeat struct {
	Sum   uint16
	times uint8
}

// NewRepeat returns a module with the parameter times, 1 or 2.
func NewRepeat(times uint8) Repeat { return Repeat{times: times} }

// Tick is one rising clock edge.
func (m *Repeat) Tick(a uint8) {
	m.Sum = uint16(a)
	if m.times > 1 {
		m.Sum += uint16(a)
	}
}

// Reset sets the register.
func (m *Repeat) Reset() { m.Sum = 0 }
