package boards

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A selector is refused by name on a system that does not support it, and
// accepted on the others.
func TestSystems(t *testing.T) {
	linux, mac, windows := system{"linux", "amd64"}, system{"darwin", "arm64"}, system{"windows", "amd64"}
	for _, tt := range []struct {
		on       system
		selector string
		says     string // "" if available
	}{
		{linux, "serial:/dev/ttyUSB0?driver=tarm", ""},
		{linux, "verilated", ""},
		{mac, "serial:/dev/cu.usbserial-1?driver=bugst", ""},
		{mac, "serial:/dev/cu.usbserial-1", ""},
		{mac, "verilated", ""},
		{mac, "serial:COM3?driver=tarm", "driver=tarm is not available on darwin/arm64, want bugst"},
		{windows, "serial:COM3", ""},
		{windows, "serial:COM3?driver=tarm", "driver=tarm is not available on windows/amd64, want bugst"},
		{windows, "tcp:host:1", ""},
		{windows, "emu?fault=dead", ""},
		{windows, "verilated?config=small", "verilated is not available on windows/amd64, want one of emu, serial, tcp, udp, line, pins, snap, capture, inspect"},
		{windows, "verilated?nope=1", "unknown \"nope\""},
	} {
		_, _, err := tt.on.find(tt.selector)
		if tt.says == "" {
			assert.NoError(t, err, "%s on %s", tt.selector, tt.on)
			continue
		}
		require.ErrorIs(t, err, ErrSelector, tt.selector)
		assert.ErrorContains(t, err, tt.says)
		assert.ErrorContains(t, err, `boards: bad selector: "`+tt.selector+`": `)
	}
	manual := ""
	for _, section := range Manual() {
		for _, e := range section.Entries {
			manual += e.Name + ": " + e.Doc + "\n"
		}
	}
	assert.Regexp(t, `(?m)^driver: .*; tarm only on linux$`, manual)
	assert.Regexp(t, `(?m)^verilated: .*; only on linux and darwin$`, manual)
}
