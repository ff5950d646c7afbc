package verifier

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A text is encoded as package json does it, with and without characters that need an escape.
func TestEncodedText(t *testing.T) {
	check := func(t require.TestingT, s string) {
		want, err := json.Marshal(s)
		require.NoError(t, err)
		var e encoder
		e.text(s)
		assert.Equal(t, string(want), string(e.b))
	}
	for c := range 256 {
		check(t, "a"+string([]byte{byte(c)})+"z")
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.String().Draw(t, "text")) })
}
