package serial

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A driver is refused by name on a system that it does not support.
func TestCheckDriver(t *testing.T) {
	for _, tt := range []struct{ driver, goos, goarch, want string }{
		{BugSt, "linux", "amd64", ""},
		{BugSt, "darwin", "arm64", ""},
		{BugSt, "windows", "amd64", ""},
		{Tarm, "linux", "arm64", ""},
		{Tarm, "darwin", "arm64", "serial: bad option: driver tarm is not available on darwin/arm64, want bugst"},
		{Tarm, "windows", "amd64", "serial: bad option: driver tarm is not available on windows/amd64, want bugst"},
		{"x", "windows", "amd64", `serial: bad option: driver "x", want bugst or tarm`},
	} {
		err := checkDriver(tt.driver, tt.goos, tt.goarch)
		if tt.want == "" {
			assert.NoError(t, err, tt)
			continue
		}
		assert.ErrorIs(t, err, ErrOption)
		assert.EqualError(t, err, tt.want)
	}
}

// The port name has an interface only if the system reports it.
func TestPortName(t *testing.T) {
	for want, p := range map[string]PortInfo{
		"COM3":          {Path: "COM3", Interface: -1},
		"FT9XXXXX":      {Path: "COM4", Serial: "FT9XXXXX", Interface: -1},
		"FT9XXXXX/if01": {Path: "/dev/ttyUSB1", Serial: "FT9XXXXX", Interface: 1},
	} {
		assert.Equal(t, want, p.String())
	}
}
