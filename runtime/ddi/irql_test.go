package ddi_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A level is its WDK name as text, and only such a name is a level.
func TestIRQLText(t *testing.T) {
	for level, name := range map[ddi.IRQL]string{
		ddi.PassiveLevel: "PASSIVE_LEVEL", ddi.DispatchLevel: "DISPATCH_LEVEL", ddi.DIRQL: "DIRQL",
	} {
		text, err := level.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, name, string(text))
		got := ddi.DIRQL - level // another level, but for none
		require.NoError(t, got.UnmarshalText([]byte(name)))
		assert.Equal(t, level, got)
	}
	for _, bad := range []string{"", "0", "dirql", "DIRQL ", "APC_LEVEL", "IRQL(7)"} {
		level := ddi.DispatchLevel
		assert.EqualError(t, level.UnmarshalText([]byte(bad)), `ddi: level "`+bad+`", want PASSIVE_LEVEL, DISPATCH_LEVEL or DIRQL`)
		assert.Equal(t, ddi.DispatchLevel, level, "an error changes nothing")
	}
	var in struct{ Level ddi.IRQL }
	require.NoError(t, json.Unmarshal([]byte(`{"Level":"DIRQL"}`), &in))
	assert.Equal(t, ddi.DIRQL, in.Level)
	assert.Error(t, json.Unmarshal([]byte(`{"Level":2}`), &in), "a number is no level")
}
