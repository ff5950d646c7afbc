package regs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestComplete(t *testing.T) {
	texts := func(text string) (all []string) {
		for _, c := range AllNames().Complete(text) {
			all = append(all, c.Text)
			assert.NotContains(t, c.Doc, "\n")
		}
		return all
	}
	assert.Equal(t, []string{"cp0.", "cp1."}, texts("c"))
	assert.Contains(t, texts(""), "id.")
	assert.Equal(t, []string{"cp0.ring_base_lo", "cp0.ring_base", "cp0.ring_base_hi", "cp0.ring_size"}, texts("cp0.ring"))
	assert.Equal(t, []string{"cp0.ring_size"}, texts("CP0.RING_S"))
	assert.Equal(t, []string{"cp0.ctl", "cp0.ctl."}, texts("cp0.ctl"))
	assert.Equal(t, []string{"cp0.ctl.run", "cp0.ctl.reset"}, texts("cp0.ctl.r"))
	assert.Empty(t, texts("cp0.none"))
	assert.Empty(t, texts("cp0.none.x"))
	assert.Empty(t, texts("a.b.c.d"))
	cause, err := AllNames().Find("cp0.fault_info.cause")
	require.NoError(t, err)
	assert.Equal(t, "none", cause[0].Values()[0])
	ctl, err := AllNames().Find("cp0.ctl")
	require.NoError(t, err)
	assert.Empty(t, ctl[0].Values())
}
