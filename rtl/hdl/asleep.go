//go:build !awake

package hdl

const sleeps = true // Asleep may return true
