package report

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Each file of a frame has one of these suffixes. The rest of its name is the name of the frame.
const (
	GotEnd      = "got.png"
	ExpectedEnd = "expected.png"
	DiffEnd     = "difference.png"
)

// maxFrame bounds the bytes of an image in a page, and maxFrames their number.
const (
	maxFrame  = 512 << 10
	maxFrames = 6
)

// A Frame is an image, as PNG.
type Frame struct {
	Name string
	PNG  []byte
}

// URI returns the image as an address that holds it.
func (f Frame) URI() template.URL {
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(f.PNG)) //nolint:gosec // it is our own encoding
}

// Large reports whether the image is too large for a page.
func (f Frame) Large() bool { return len(f.PNG) > maxFrame }

// readFrames returns the images of a folder. A pair without a difference gets one.
func readFrames(dir string, names map[string]bool) (out []Frame, err error) {
	var all []string
	for name := range names {
		if strings.HasSuffix(name, ".png") {
			all = append(all, name)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(endOf(a), endOf(b)), cmp.Compare(a, b)) })
	for _, name := range all {
		p, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		out = append(out, Frame{name, p})
	}
	return compared(out[:min(len(out), maxFrames)])
}

// compared adds the difference of each pair that has none.
func compared(all []Frame) ([]Frame, error) {
	find := func(name string) []byte {
		i := slices.IndexFunc(all, func(f Frame) bool { return f.Name == name })
		if i < 0 {
			return nil
		}
		return all[i].PNG
	}
	for _, got := range all {
		begin, ok := strings.CutSuffix(got.Name, GotEnd)
		expected := find(begin + ExpectedEnd)
		if !ok || expected == nil || find(begin+DiffEnd) != nil {
			continue
		}
		diff, err := DifferencePNG(got.PNG, expected)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", got.Name, err)
		}
		all = append(all, Frame{begin + DiffEnd, diff})
	}
	return all, nil
}

// endOf returns the order of a file by the end of its name: a frame, the expected one, where they
// differ, others.
func endOf(name string) int {
	ends := []string{GotEnd, ExpectedEnd, DiffEnd}
	if i := slices.IndexFunc(ends, func(end string) bool { return strings.HasSuffix(name, end) }); i >= 0 {
		return i
	}
	return len(ends)
}

// DifferencePNG is Difference for images as PNG. Without images it returns nil.
func DifferencePNG(got, expected []byte) ([]byte, error) {
	if got == nil && expected == nil {
		return nil, nil
	}
	a, err := png.Decode(bytes.NewReader(got))
	if err != nil {
		return nil, err
	}
	b, err := png.Decode(bytes.NewReader(expected))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = png.Encode(&out, Difference(a, b))
	return out.Bytes(), err
}

// Difference returns an image that shows where two images differ: pixels that differ are red,
// others are those of b in light grey.
func Difference(a, b image.Image) *image.NRGBA {
	out := image.NewNRGBA(a.Bounds().Union(b.Bounds()))
	for y := out.Rect.Min.Y; y < out.Rect.Max.Y; y++ {
		for x := out.Rect.Min.X; x < out.Rect.Max.X; x++ {
			grey := color.GrayModel.Convert(b.At(x, y)).(color.Gray).Y
			c := color.NRGBA{128 + grey/2, 128 + grey/2, 128 + grey/2, 255}
			if color.NRGBAModel.Convert(a.At(x, y)) != color.NRGBAModel.Convert(b.At(x, y)) {
				c = color.NRGBA{R: 220, G: 20, B: 20, A: 255}
			}
			out.SetNRGBA(x, y, c)
		}
	}
	return out
}
