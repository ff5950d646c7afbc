package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// The versions in docs/compatibility.md are those the program writes, and the
// packages it lists exist.
func TestCompatibilityDoc(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "compatibility.md"))
	require.NoError(t, err)
	text := string(page)

	assert.Contains(t, text, fmt.Sprintf("`ID.VERSION`, now %d.%d,", idreg.VersionValue>>16, idreg.VersionValue&0xffff))
	assert.Contains(t, text, fmt.Sprintf("data-link version %d in Hello", datalink.Version))
	assert.Contains(t, text, fmt.Sprintf("`\"version\":%d` in the first line", verifier.TraceVersion))
	code, stdout, stderr := hilgpu("reg", "snap")
	require.Zero(t, code, stderr)
	format := regexp.MustCompile(`"format":\s*"[^"]+"`).FindString(stdout)
	require.NotEmpty(t, format)
	assert.Contains(t, text, "`"+format+"`")
	g, err := gpu.New(gpu.Small())
	require.NoError(t, err)
	var checkpoint bytes.Buffer
	require.NoError(t, g.Save(&checkpoint))
	magic, err := checkpoint.ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, text, "| `"+strings.TrimSpace(magic)+"`,")

	_, table, ok := strings.Cut(text, "## Packages")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "## Formats")
	names := 0
	for row := range strings.Lines(table) {
		if !strings.HasPrefix(row, "| `") {
			continue
		}
		packages, _, _ := strings.Cut(row[1:], "|")
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(packages, -1) {
			files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(name[1]), "*.go"))
			require.NoError(t, err)
			assert.NotEmpty(t, files, name[1])
			names++
		}
	}
	assert.Greater(t, names, 20)
}
