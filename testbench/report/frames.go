package report

import (
	"bytes"
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

// The ends of the names of the files of a frame. What is before them is its name.
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
	slices.Sort(all)
	for _, name := range all {
		p, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		out = append(out, Frame{name, p})
		begin, ok := strings.CutSuffix(name, GotEnd)
		if !ok || !names[begin+ExpectedEnd] || names[begin+DiffEnd] {
			continue
		}
		expected, err := os.ReadFile(filepath.Join(dir, begin+ExpectedEnd))
		if err != nil {
			return nil, err
		}
		diff, err := DifferencePNG(p, expected)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
		}
		out = append(out, Frame{begin + DiffEnd, diff})
	}
	return out[:min(len(out), maxFrames)], nil
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
