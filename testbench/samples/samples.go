// Package samples holds the images that the repository ships: small opaque
// tiles, each at most 8 KiB as RGBA, drawn by code and stored as PNG.
package samples

import (
	"embed"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
)

// Side is the width and height of each image, in pixels.
const Side = 44

//go:embed *.png
var files embed.FS

// Names lists the images, in the order of Load.
var Names = [...]string{"bars", "checker", "circuit", "gradient", "plasma", "rings"}

// Load decodes the stored images.
func Load() ([]image.Image, error) {
	var out []image.Image
	for _, n := range Names {
		f, err := files.Open(n + ".png")
		if err != nil {
			return nil, fmt.Errorf("samples: %w", err)
		}
		img, err := png.Decode(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("samples: %s: %w", n, err)
		}
		out = append(out, img)
	}
	return out, nil
}

// Draw returns image i of Names as the code draws it.
func Draw(i int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, Side, Side))
	for y := range Side {
		for x := range Side {
			img.SetNRGBA(x, y, pixel(Names[i], x, y))
		}
	}
	return img
}

func pixel(name string, x, y int) color.NRGBA {
	if x == 0 || y == 0 || x == Side-1 || y == Side-1 {
		return color.NRGBA{16, 18, 24, 255}
	}
	switch name {
	case "bars":
		return [...]color.NRGBA{
			{235, 235, 235, 255}, {235, 235, 16, 255}, {16, 235, 235, 255}, {16, 235, 16, 255},
			{235, 16, 235, 255}, {235, 16, 16, 255}, {16, 16, 235, 255}, {16, 16, 16, 255},
		}[x*8/Side]
	case "checker":
		if (x/6+y/6)%2 == 0 {
			return color.NRGBA{240, 196, 84, 255}
		}
		return color.NRGBA{92, 46, 24, 255}
	case "circuit":
		return circuit(x, y)
	case "gradient":
		return color.NRGBA{uint8(x * 255 / Side), uint8(y * 255 / Side), uint8(255 - (x+y)*127/Side), 255}
	case "plasma":
		v := math.Sin(float64(x)/5) + math.Sin(float64(y)/7) + math.Sin(float64(x+y)/9)
		return color.NRGBA{wave(v), wave(v + 2), wave(v + 4), 255}
	default: // rings
		d := math.Hypot(float64(x)-Side/2+.5, float64(y)-Side/2+.5)
		return color.NRGBA{40, wave(d / 1.5), 160, 255}
	}
}

// circuit draws traces and pads on a green board.
func circuit(x, y int) color.NRGBA {
	switch {
	case x%11 >= 4 && x%11 <= 6 && y%11 >= 4 && y%11 <= 6:
		return color.NRGBA{222, 184, 92, 255}
	case y%11 == 5 && x < Side*3/4 || x%11 == 5 && y > Side/4:
		return color.NRGBA{64, 150, 84, 255}
	}
	return color.NRGBA{14, 78, 44, 255}
}

// wave maps a phase to 0..255.
func wave(v float64) uint8 {
	return uint8(math.Round(127.5 + 127.5*math.Sin(v)))
}
