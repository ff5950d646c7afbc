package core

// Starting reports whether the core is at its start.
func (m *Module) Starting() bool { return m.state == stateStart }
