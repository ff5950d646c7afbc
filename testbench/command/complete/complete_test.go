package complete

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestListOf(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"", []string{"mem\twords", "irq"}},
		{"i", []string{"irq"}},
		{"mem,", []string{"mem,irq"}},
		{"mem,irq,", nil},
	} {
		got, d := matching(listOf([]string{"mem\twords", "irq"}))(nil, nil, tt.text)
		assert.ElementsMatch(t, tt.want, got, tt.text)
		assert.Equal(t, incomplete, d)
	}
}

// Command completes the flags it knows, and offers no files for the others.
func TestCommand(t *testing.T) {
	c := &cobra.Command{Use: "x", Run: func(*cobra.Command, []string) {}}
	c.Flags().String("poke", "", "")
	c.Flags().Int("count", 0, "")
	c.Flags().Bool("all", false, "")
	require.NoError(t, Command(c))
	for _, tt := range []struct {
		flag string
		want []string
	}{{"poke", []string{"safe", "idle", "destructive"}}, {"count", nil}} {
		do, ok := c.GetFlagCompletionFunc(tt.flag)
		require.True(t, ok, tt.flag)
		got, d := do(c, nil, "")
		assert.Equal(t, tt.want, got)
		assert.NotZero(t, d&noFiles)
	}
	_, ok := c.GetFlagCompletionFunc("all")
	assert.False(t, ok)
	assert.Error(t, Command(c), "completed already")
}

func TestScripts(t *testing.T) {
	var out bytes.Buffer
	root := &cobra.Command{Use: "hilgpu"}
	root.AddCommand(&cobra.Command{Use: "x", Run: func(*cobra.Command, []string) {}})
	Scripts(root, &out)
	root.SetArgs([]string{"completion", "bash"})
	require.NoError(t, root.Execute())
	assert.Contains(t, out.String(), "_hilgpu")
}
