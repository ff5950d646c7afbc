package property

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/rtl.md lists every property, and no other.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/rtl.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(text), "| property | statement | assumes | promised by |\n|---|---|---|---|\n")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n\n")
	var want []string
	for _, p := range List() {
		want = append(want, fmt.Sprintf("| %s | %s | %s | %s |", p.Name, p.Text, p.Assumes, p.Source))
	}
	assert.Equal(t, strings.Join(want, "\n"), strings.TrimSpace(table))
}
