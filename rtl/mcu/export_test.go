package mcu

// AtLimit reports whether the program is silent for LIMIT clocks in the next Tick, unless it writes KICK, sleeps or halts.
func (m *Module) AtLimit() bool {
	return m.host.run && !m.host.hung && uint64(m.host.age)+1 == uint64(m.host.limit)
}

// Age sets the clocks since the program wrote KICK or slept.
func (m *Module) Age(clocks uint32) { m.host.age = clocks }

// Compare returns the compare value of the timer.
func (m *Module) Compare() uint64 { return m.timer.compare() }
