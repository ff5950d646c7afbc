package serve

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// An address that a system does not support is refused by name.
func TestPlaces(t *testing.T) {
	for _, tt := range []struct{ where, goos, goarch, want string }{
		{"tcp:127.0.0.1:0", "linux", "amd64", ""},
		{"pty:board", "linux", "arm64", ""},
		{"udp:127.0.0.1:0", "windows", "amd64", ""},
		{"pty:board", "windows", "amd64", "serve: bad options: pty:PATH is not available on windows/amd64, want tcp:ADDRESS or udp:ADDRESS"},
		{"pty:board", "darwin", "arm64", "serve: bad options: pty:PATH is not available on darwin/arm64, want tcp:ADDRESS or udp:ADDRESS"},
		{"eth:eth0", "linux", "amd64", ""},
		{"eth:eth0", "darwin", "amd64", `serve: bad options: eth:IFACE is not available on darwin/amd64, want tcp:ADDRESS or udp:ADDRESS`},
		{"eth:eth0/02:00:00:00:00:01", "linux", "amd64", `serve: bad options: listen at "eth:eth0/02:00:00:00:00:01", want eth:IFACE, without the address`},
		{"ib:1", "linux", "amd64", `serve: bad options: listen at "ib:1", want tcp:ADDRESS, udp:ADDRESS, eth:IFACE, nettlp:ADDR or pty:PATH`},
		{"ib:1", "darwin", "amd64", `serve: bad options: listen at "ib:1", want tcp:ADDRESS or udp:ADDRESS`},
		{"tcp:127.0.0.1:99999", "linux", "amd64", `serve: bad options: listen at "tcp:127.0.0.1:99999", want tcp:HOST:PORT`},
		{"udp:x", "linux", "amd64", `serve: bad options: listen at "udp:x", want udp:HOST:PORT`},
		{"nettlp:192.168.10.1", "linux", "amd64", ""},
		{"nettlp:192.168.10.1?bar=0x6000000000&id=03:00.0", "linux", "amd64", ""},
		{"nettlp:192.168.10.1", "darwin", "arm64", `serve: bad options: nettlp:ADDR is not available on darwin/arm64, want tcp:ADDRESS or udp:ADDRESS`},
		{"nettlp:192.168.10.1?x=1", "linux", "amd64", `serve: bad options: listen at "nettlp:192.168.10.1?x=1", want ` + wantNetTLP},
		{"pty:", "darwin", "amd64", `serve: bad options: listen at "pty:", want tcp:ADDRESS or udp:ADDRESS`},
	} {
		err := check(tt.where, tt.goos, tt.goarch)
		if tt.want == "" {
			assert.NoError(t, err, tt)
			continue
		}
		assert.ErrorIs(t, err, ErrOptions)
		assert.EqualError(t, err, tt.want)
	}
}
