package export_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// browsed opens the page at an address in a browser, and returns it after its script has run.
func browsed(t *testing.T, file, at string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+file+at).Output()
	require.NoError(t, err)
	return string(out)
}

// TestHTML: a browser shows all registers, and the fields of the value that the address has.
func TestHTML(t *testing.T) {
	tooltest.Need(t, "chromium")
	dir := written(t, map[string]string{"hilgpu.html": text(t, "html")})
	row := regexp.MustCompile(`<td class="bits">([0-9.]+)</td><td class="name">(\w+)</td><td class="value">([^<]*)</td>`)
	for _, tt := range []struct {
		at   string
		want []string // bits, name and value of each field
	}{
		{"#CP0.STATUS=0x12260", []string{"0 IDLE 0", "1 FAULT 0", "6..4 STATE 6 CLEAR", "9 IN_IB 1", "12..10 RING 0 IDLE", "16..13 WALK 9 GUARD", "19..17 ISSUE 0 IDLE", "22..20 SYNC 0 IDLE"}},
		{"#CP0.FAULT_INFO=11", []string{"3..0 CAUSE 11 RING"}},
		{"#CP0.FAULT_INFO=0xf", []string{"3..0 CAUSE 15 0xf"}},
		{"#ID.SCRATCH0=0xffff_ffff", []string{"31..0 VALUE 4294967295 0xffffffff"}},
		{"#ID.SCRATCH0=0x100000000", []string{"31..0 VALUE "}},
		{"#ID.SCRATCH0", []string{"31..0 VALUE "}},
	} {
		page := browsed(t, filepath.Join(dir, "hilgpu.html"), tt.at)
		for _, e := range regmap.New().Entries() {
			require.Contains(t, page, fmt.Sprintf(`id="%s" data-offset="0x%04x"`, e.Name(), e.Off()))
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(tt.at, "#"), "=")
		_, section, found := strings.Cut(page, `id="`+name+`"`)
		require.True(t, found)
		section, _, _ = strings.Cut(section, "</section>")
		var got []string
		for _, m := range row.FindAllStringSubmatch(section, -1) {
			got = append(got, m[1]+" "+m[2]+" "+m[3])
		}
		assert.Equal(t, tt.want, got, tt.at)
	}
}

// The page loads nothing.
func TestHTMLIsOneFile(t *testing.T) {
	assert.NotRegexp(t, `(?i)\ssrc=|<link|@import|url\(|https?:|fetch\(`, text(t, "html"))
}
