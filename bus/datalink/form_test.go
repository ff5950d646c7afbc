package datalink

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// The short forms are encoded by hand from the table in docs/design.md.
func TestForms(t *testing.T) {
	for _, tt := range []struct {
		name   string
		packet string
		form   int
		want   string
	}{
		{"read of a register", "00000001 0000050f fe001010", formRead, "d4 05 fe 10 10"},
		{"read by the device", "00000010 010005ff 12345678", formRead, "ff 000010 0100 05 ff 12 34 56 78"},
		{"write of a register", "40000001 0000000f fe001014 01020304", formWrite, "d0 fe 10 14 01020304"},
		{"completion", "4a000001 01000004 00000510 78563412", formCompletion, "c0 05 10 78563412"},
		{"completion by the host", "4a000020 00000080 01000540", formCompletion, "db 000020 0000 80 01 05 40"},
		{"completion without data", "0a000000 01002004 00000500", formRaw, "0a000000 01002004 00000500"},
		{"long header", "60000001 0000000f 00000001 00000000 01020304", formRaw, "60000001 0000000f 00000001 00000000 01020304"},
		{"no header", "00", formRaw, "00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			packet := unhex(tt.packet)
			form := formOf(packet)
			assert.Equal(t, tt.form, form)
			got := appendForm(nil, form, packet)
			assert.Equal(t, unhex(tt.want), got)
			back, ok := expand([]byte{9}, form, got, len(packet))
			assert.True(t, ok)
			assert.Equal(t, packet, back[1:])
			_, ok = expand(nil, form, got, len(packet)-1)
			assert.False(t, ok, "larger than the limit")
		})
	}
}

func TestExpandRefusesCutForms(t *testing.T) {
	whole := unhex("ff 000010 0100 05 ff 12 34 56 78")
	for n := range whole {
		_, ok := expand(nil, formRead, whole[:n], 280)
		assert.False(t, ok, "%d bytes", n)
	}
	_, ok := expand(nil, formRaw, nil, 280)
	assert.False(t, ok)
}

func TestFormsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		packet := rapid.SliceOfN(rapid.Byte(), 1, 64).Draw(t, "packet")
		if f := rapid.IntRange(0, 3).Draw(t, "template"); f > 0 {
			copy(packet, templates[f][:rapid.IntRange(1, headerLen).Draw(t, "same")])
		}
		form := formOf(packet)
		short := appendForm(nil, form, packet)
		require.LessOrEqual(t, len(short), len(packet))
		back, ok := expand(nil, form, short, len(packet))
		require.True(t, ok)
		require.Equal(t, packet, back)
	})
}
