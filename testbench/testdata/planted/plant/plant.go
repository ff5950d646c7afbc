// Package plant chooses the fault that the mutated sources of a build have.
package plant

var (
	active string // name of the fault
	seen   int    // times that its place was reached
)

// Set chooses a fault.
func Set(name string) { active, seen = name, 0 }

// Is reports whether the fault is chosen.
func Is(name string) bool { return name == active }

// Nth reports whether the fault is chosen and its place is reached for the nth time, from 1.
func Nth(name string, n int) bool {
	if name == active {
		seen++
	}
	return name == active && seen == n
}

// From reports whether the fault is chosen and its place is reached for the nth time or later.
func From(name string, n int) bool {
	if name == active && seen < n {
		seen++
	}
	return name == active && seen == n
}
