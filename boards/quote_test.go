package boards

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"emu":                    "emu",
		"tcp:127.0.0.1:4000":     "tcp:127.0.0.1:4000",
		"emu?nodes=1&vram=8KiB":  "'emu?nodes=1&vram=8KiB'",
		"serial:/dev/it's":       `'serial:/dev/it'\''s'`,
		"snap:/tmp/a b":          "'snap:/tmp/a b'",
		"^present(/|$)":          "'^present(/|$)'",
		"capture:/tmp/x.pcapng":  "capture:/tmp/x.pcapng",
		"serial:/dev/ttyUSB0=7%": "serial:/dev/ttyUSB0=7%",
		"a+b,c@d_e-F.9":          "a+b,c@d_e-F.9",
		"two\tor\nmore":          "'two\tor\nmore'",
		"snap:größe":             "'snap:größe'",
		"":                       "''",
	} {
		assert.Equal(t, want, Quote(text))
	}
}
