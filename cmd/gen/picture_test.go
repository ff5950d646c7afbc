package main

import (
	"encoding/xml"
	"errors"
	"go/types"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A shape is a rectangle or a text of a picture.
type shape struct {
	class, text string
	rect
}

// shapes parses a picture.
func shapes(t *testing.T, picture []byte) (boxes, texts []shape) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(picture)))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return boxes, texts
		}
		require.NoError(t, err)
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "rect" && start.Name.Local != "text" {
			continue
		}
		at := map[string]int{}
		s := shape{}
		for _, a := range start.Attr {
			at[a.Name.Local], _ = strconv.Atoi(a.Value)
			if a.Name.Local == "class" {
				s.class = a.Value
			}
		}
		s.rect = rect{at["x"], at["y"], at["width"], at["height"]}
		if start.Name.Local == "rect" {
			boxes = append(boxes, s)
			continue
		}
		var text struct {
			Text string `xml:",chardata"`
		}
		require.NoError(t, d.DecodeElement(&text, &start))
		s.text = text.Text
		texts = append(texts, s)
	}
}

// extent returns the range in x of a text in a wide font.
func (s shape) extent() (from, to int) {
	width := len([]rune(s.text)) * 7
	if strings.Contains(s.class, "title") {
		width = len([]rune(s.text)) * 9
	} else if strings.Contains(s.class, "note") {
		width = len([]rune(s.text)) * 6
	}
	switch {
	case strings.Contains(s.class, "middle"):
		return s.x - width/2, s.x + width/2
	case strings.Contains(s.class, "end"):
		return s.x - width, s.x
	}
	return s.x, s.x + width
}

// Pictures are well-formed, and every text fits into its box and the page.
func TestPictures(t *testing.T) {
	for name, draw := range map[string]func(root string) ([]byte, error){"stack": stackPicture, "gpu": gpuPicture} {
		picture, err := draw("../..")
		require.NoError(t, err)
		assert.Contains(t, string(picture), "prefers-color-scheme: dark", name)
		boxes, texts := shapes(t, picture)
		page := boxes[0]
		assert.Greater(t, len(boxes), 10, name)
		for _, s := range texts {
			from, to := s.extent()
			assert.True(t, from >= page.x && to <= page.right() && s.y <= page.bottom(), "%s: %q is outside the page", name, s.text)
			for _, b := range boxes {
				if b.class != "page" && b.class != "panel" && s.y > b.y && s.y < b.bottom() && to > b.x && from < b.right() {
					assert.True(t, from >= b.x && to <= b.right(), "%s: %q crosses the border of a box", name, s.text)
				}
			}
		}
	}
}

// The picture has every block of the GPU with its package.
func TestGPUPicture(t *testing.T) {
	picture, err := gpuPicture("../..")
	require.NoError(t, err)
	text := string(picture)
	for _, want := range []string{">cp0<", ">command processor<", ">rtl/cp<", ">dma<", ">vram<", ">fence1<", ">← cp1<", ">← pcie, arbiter<", ">← intc, cp0, cp1<", ">data path<", ">control plane<"} {
		assert.Contains(t, text, want)
	}
	assert.Equal(t, 7, strings.Count(text, " optional\""), "cp1, fence1, perf, watchdog, arbiter, mcu, gart")
}

func TestGPUPictureRefuses(t *testing.T) {
	_, err := gpuPicture(tree(t, blockFiles("odd a.Module")))
	assert.ErrorIs(t, err, errBlock)
	assert.ErrorContains(t, err, "odd has no place in the picture of the GPU")
	_, err = gpuPicture(tree(t, blockFiles("dma a.Module")))
	assert.ErrorContains(t, err, "which is no block")
	_, err = gpuPicture(tree(t, map[string]string{"rtl/gpu/gpu.go": "package gpu\n"}))
	assert.ErrorContains(t, err, "rtl/gpu has no type GPU")
}

// named returns the type of a field of the GPU.
func named(pkg *types.Package, field int) *types.Named {
	return pkg.Scope().Lookup("GPU").Type().Underlying().(*types.Struct).Field(field).Type().(*types.Named)
}

// Connections come from the types of outputs and inputs.
func TestConnections(t *testing.T) {
	const methods = "func (m *Module) Reset() {}\n"
	files := map[string]string{
		"rtl/abi/port/port.go": "package port\ntype Request struct{}\ntype Beat struct{}\ntype Completion struct{}\n",
		"rtl/a/a.go":           "package a\nimport \"" + modulePath + "rtl/abi/port\"\ntype Module struct{}\n" + methods + "type In struct{ Cpl port.Completion }\nfunc (m *Module) Tick(in In) {}\nfunc (m *Module) Fetch() port.Request { return port.Request{} }\n",
		"rtl/b/b.go":           "package b\nimport (\n\"" + modulePath + "rtl/a\"\n\"" + modulePath + "rtl/abi/port\"\n)\ntype Module struct{}\n" + methods + "func (m *Module) Tick() {}\nfunc (m *Module) Message() (port.Request, port.Beat) { return port.Request{}, port.Beat{} }\nfunc (m *Module) Ask() a.In { return a.In{} }\n",
		"rtl/hdl/hdl.go":       fakeHDL,
		"rtl/gpu/gpu.go":       "package gpu\nimport (\n\"" + modulePath + "rtl/a\"\n\"" + modulePath + "rtl/b\"\n)\ntype GPU struct {\na a.Module `idle:\"-\"`\nb b.Module `idle:\"-\"`\n}\n",
	}
	root := tree(t, files)
	pkg, err := newLoader(root).Import(modulePath + blocksDir)
	require.NoError(t, err)
	a, b := named(pkg, 0), named(pkg, 1)
	reads, writes := masters(a)
	assert.True(t, reads)
	assert.False(t, writes)
	reads, writes = masters(b)
	assert.False(t, reads)
	assert.True(t, writes)
	assert.True(t, sends(b, a))
	assert.False(t, sends(a, b))
	assert.True(t, numbered("cp0", "fence0"))
	assert.False(t, numbered("cp0", "fence1"))
	assert.True(t, numbered("cp1", "regram"))
}

func TestStackPictureRefuses(t *testing.T) {
	_, err := stackPicture(t.TempDir())
	assert.ErrorIs(t, err, errStack)
	assert.ErrorContains(t, err, "runtime/d3d11")
}
