package drivertest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/conform"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// The report counts the calls and the packets of each case, also of those in child
// processes, and is the same each time apart from times.
func TestConformanceReport(t *testing.T) {
	tooltest.Long(t)
	dir := t.TempDir()
	report := func(file string, extra ...string) string {
		path := filepath.Join(dir, file)
		code, _, stderr := runDeadly(t, "good", append([]string{"test", "--board", "emu?nodes=1", "--report", path,
			"--filter", "^(present|copy-boxes|order-one-node|driver-lists)$"}, extra...)...)
		require.Equal(t, exit.OK, code, stderr)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return regexp.MustCompile(`"(date|time_ns)": [^\n]*|\d{4}-\d\d-\d\dT[0-9:]*Z`).ReplaceAllString(string(text), "")
	}
	text := report("r.json")
	var r conform.Report
	plain, err := os.ReadFile(filepath.Join(dir, "r.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(plain, &r))
	assert.Equal(t, []int{3, 0, 1}, []int{r.Passed, r.Failed, r.Skipped})
	assert.Equal(t, "emu?nodes=1", r.Board)
	seen := map[string]uint64{}
	for _, c := range append(r.Calls, r.Packets...) {
		seen[c.Name] = c.Count
	}
	assert.EqualValues(t, 2, seen["pfnPresent"], "the case presents twice, and PRESENT_TEST does not reach the driver")
	for _, name := range []string{"pfnResourceCopyRegion", "DxgkDdiBuildPagingBuffer", "DxgkCbNotifyInterrupt", "COPY"} {
		assert.Positive(t, seen[name], name)
	}
	assert.Zero(t, r.NotDecodable)
	assert.Equal(t, text, report("again.json"), "the same each time")
	assert.Equal(t, text, report("here.json", "--in-process"), "in this process too")
	assert.Equal(t, report("r.html"), report("again.html"))
}
