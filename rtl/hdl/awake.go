//go:build awake

package hdl

const sleeps = false // Asleep may return true
