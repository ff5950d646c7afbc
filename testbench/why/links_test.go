package why_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// documented reads the links of the table of docs/log.md.
var documented = sync.OnceValues(func() (all []string, err error) {
	text, err := os.ReadFile("../../docs/log.md")
	if err != nil {
		return nil, err
	}
	table := regexp.MustCompile(`(?s)\| link \| what did not happen \|\n(.*?)\n\n`).FindSubmatch(text)
	if table == nil {
		return nil, fmt.Errorf("docs/log.md has no table of links")
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllSubmatch(table[1], -1) {
		all = append(all, string(row[1]))
	}
	return all, nil
})

// links returns what may be missing: nothing, or a link that is documented.
func links(t *testing.T) []string {
	t.Helper()
	all, err := documented()
	require.NoError(t, err)
	return slices.Concat([]string{""}, all)
}

// The table of the documentation has the names of the package, in the same order.
func TestLinksAreDocumented(t *testing.T) {
	src, err := os.ReadFile("answer.go")
	require.NoError(t, err)
	var names []string
	for _, name := range regexp.MustCompile(`(?m)^\tMissing\w+ += "(\w+)"`).FindAllSubmatch(src, -1) {
		names = append(names, string(name[1]))
	}
	all := links(t)[1:]
	require.Len(t, all, 17)
	assert.Equal(t, all, names)
}

// A call whose DMA buffer stays in the software queue was not given to the hardware.
func TestCallInTheSoftwareQueue(t *testing.T) {
	call := eventlog.New(eventlog.Call, 1).WithText("Flush")
	call.Process, call.Thread = 1, 1
	pending := eventlog.New(eventlog.Pending, 1, 0, 9, 64).WithText("DxgkDdiRender")
	pending.Process, pending.Thread, pending.Cause = 1, 1, 2
	end := eventlog.New(eventlog.CallEnd)
	end.Process, end.Thread, end.Cause = 1, 1, 2
	a, err := runOf(t, eventlog.New(eventlog.Open, 1e8, 1).WithText("emu"), call, pending, end).Call(1)
	require.NoError(t, err)
	assert.Equal(t, why.MissingSubmit, a.Missing)
	assert.Contains(t, links(t), a.Missing)
	assert.Equal(t, "it returned, but its work has not ended", a.Verdict)
}
