package eventlog

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/log.md has a row for each kind, in order.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/log.md")
	require.NoError(t, err)
	var want strings.Builder
	for _, d := range Table {
		var fields []string
		for _, f := range d.Fields {
			fields = append(fields, f.Name)
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", d.Name, d.Doc, strings.Join(fields, ", "), cmp.Or(d.Data, d.Text))
	}
	assert.Contains(t, string(text), want.String())
}
