package ether_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/bus/ether"
)

// TestParseMAC: the forms of package net, and one interface only.
func TestParseMAC(t *testing.T) {
	want := ether.MAC{2, 0, 0x5e, 0x10, 0, 1}
	for _, text := range []string{"02:00:5e:10:00:01", "02-00-5E-10-00-01", "0200.5e10.0001"} {
		m, err := ether.ParseMAC(text)
		assert.NoError(t, err)
		assert.Equal(t, want, m)
		assert.Equal(t, "02:00:5e:10:00:01", m.String())
	}
	for text, why := range map[string]string{
		"":                        `"", want six bytes`,
		"02:00:5e:10:00":          "want six bytes",
		"02:00:5e:10:00:01:02:03": "want six bytes",
		"ff:ff:ff:ff:ff:ff":       "the address of a group",
		"01:00:5e:10:00:01":       "the address of a group",
		"00:00:00:00:00:00":       "the address of no interface",
	} {
		_, err := ether.ParseMAC(text)
		assert.ErrorIs(t, err, ether.ErrMAC)
		assert.ErrorContains(t, err, why)
	}
}

// TestNoInterface: the error says which ones there are.
func TestNoInterface(t *testing.T) {
	_, err := ether.Open("no-such-interface", ether.Link, 0, 1<<16)
	if runtime.GOOS != "linux" {
		assert.ErrorIs(t, err, ether.ErrSystem)
		return
	}
	assert.ErrorIs(t, err, ether.ErrInterface)
	assert.ErrorContains(t, err, "no-such-interface: this machine has")
}
