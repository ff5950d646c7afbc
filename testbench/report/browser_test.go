package report_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/report"
)

// seen returns what a browser shows of a page.
func seen(t *testing.T, page []byte) image.Image {
	t.Helper()
	dir := t.TempDir()
	file, shot := filepath.Join(dir, "page.html"), filepath.Join(dir, "page.png")
	require.NoError(t, os.WriteFile(file, page, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--window-size=1300,2600", "--screenshot="+shot, "file://"+file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(shot)
	require.NoError(t, err)
	m, err := png.Decode(bytes.NewReader(text))
	require.NoError(t, err)
	return m
}

// pixels counts the pixels of each colour.
func pixels(m image.Image) map[color.NRGBA]int {
	n := map[color.NRGBA]int{}
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
			n[color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)]++
		}
	}
	return n
}

// TestBrowser: a browser shows the timeline and the frames of a page, and the outcomes of a list.
func TestBrowser(t *testing.T) {
	tooltest.Need(t, "chromium")
	s, err := report.Open(write(t, map[string][]byte{
		report.LogFile: sample(t), report.MessagesFile: []byte("3 is not 4"),
		"got.png": picture(t, image.Pt(1, 2)), "expected.png": picture(t),
	}))
	require.NoError(t, err)
	var list bytes.Buffer
	require.NoError(t, report.Index{Title: "2", Rows: []report.Row{
		{Name: "a", Outcome: "passed"}, {Name: "b", Outcome: "failed", Page: "b/report.html", Repeat: "hilgpu test"},
	}}.WriteHTML(&list))
	for _, tt := range []struct {
		name  string
		page  []byte
		least int // pixels
		want  map[string]color.NRGBA
	}{
		{"page", []byte(pageOf(t, s)), 10, map[string]color.NRGBA{
			"a queue": {0x7a, 0x5e, 0xa8, 255}, "a node": {0x2f, 0x7d, 0x4f, 255}, "a thread": {0x35, 0x65, 0xa8, 255}, "a mark": {0xd0, 0, 0, 255},
			"a pixel of a frame": {255, 0, 0, 255}, "a pixel that differs": {220, 20, 20, 255},
		}},
		{"list", list.Bytes(), 1, map[string]color.NRGBA{"failed": {0xb3, 0x26, 0x1e, 255}, "passed": {0x17, 0x69, 0x2b, 255}, "a link": {0, 0, 0xee, 255}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := pixels(seen(t, tt.page))
			for name, c := range tt.want {
				assert.GreaterOrEqual(t, n[c], tt.least, name)
			}
		})
	}
}
