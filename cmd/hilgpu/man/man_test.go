package man

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWrite(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1748779200") // 1 June 2025, 12:00 UTC
	dir := filepath.Join(t.TempDir(), "man1")
	root := &cobra.Command{Use: "tool", Short: "A tool"}
	root.AddCommand(&cobra.Command{Use: "do", Short: "Do it", Long: "Do it:\n\n  a  b\n  c  d", Run: func(*cobra.Command, []string) {}},
		&cobra.Command{Use: "topic", Short: "A topic", Long: "Words."})
	require.NoError(t, Write(root, dir, "tool 1.2"))
	for name, says := range map[string]string{"tool.1": "A tool", "tool-do.1": "  c  d", "tool-topic.1": `.TH "TOOL-TOPIC" "1" "Jun 2025" "tool 1.2" "tool"`} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Contains(t, string(text), says)
	}
	assert.Error(t, Write(root, filepath.Join(dir, "tool.1"), ""), "a file is in the way")
}

func TestMarkdown(t *testing.T) {
	assert.Equal(t, "Words\nmore.\n\n```\nTable:\n  a  b\n```\n\nEnd.", markdown("Words\nmore.\n\nTable:\n  a  b\n\nEnd."))
}
