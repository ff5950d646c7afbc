package compose

import (
	"flag"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the stored images")

// The stored images are those that the code draws. Some machines fuse
// floating-point operations, so a channel may differ by one.
func TestStoredAsDrawn(t *testing.T) {
	if *update {
		for i, n := range sampleNames {
			f, err := os.Create("samples/" + n + ".png")
			require.NoError(t, err)
			require.NoError(t, png.Encode(f, drawSample(i)))
			require.NoError(t, f.Close())
		}
		t.Log("images written; run the test again to compare them")
		return
	}
	sources, err := Samples()
	require.NoError(t, err)
	require.Len(t, sources, len(sampleNames))
	for i, img := range sources {
		want := drawSample(i)
		require.Equal(t, image.Rect(0, 0, sampleSide, sampleSide), img.Image.Bounds())
		require.LessOrEqual(t, 4*sampleSide*sampleSide, 8<<10)
		for y := range sampleSide {
			for x := range sampleSide {
				r, g, b, a := img.Image.At(x, y).RGBA()
				wr, wg, wb, wa := want.At(x, y).RGBA()
				for c, d := range []int{int(r>>8) - int(wr>>8), int(g>>8) - int(wg>>8), int(b>>8) - int(wb>>8), int(a>>8) - int(wa>>8)} {
					if d < -1 || d > 1 {
						t.Fatalf("%s: pixel %d,%d channel %d is %d off", sampleNames[i], x, y, c, d)
					}
				}
			}
		}
	}
}

// drawSample returns image i of sampleNames as the code draws it.
func drawSample(i int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, sampleSide, sampleSide))
	for y := range sampleSide {
		for x := range sampleSide {
			img.SetNRGBA(x, y, pixel(sampleNames[i], x, y))
		}
	}
	return img
}

func pixel(name string, x, y int) color.NRGBA {
	if x == 0 || y == 0 || x == sampleSide-1 || y == sampleSide-1 {
		return color.NRGBA{16, 18, 24, 255}
	}
	switch name {
	case "bars":
		return [...]color.NRGBA{
			{235, 235, 235, 255}, {235, 235, 16, 255}, {16, 235, 235, 255}, {16, 235, 16, 255},
			{235, 16, 235, 255}, {235, 16, 16, 255}, {16, 16, 235, 255}, {16, 16, 16, 255},
		}[x*8/sampleSide]
	case "checker":
		if (x/6+y/6)%2 == 0 {
			return color.NRGBA{240, 196, 84, 255}
		}
		return color.NRGBA{92, 46, 24, 255}
	case "circuit":
		return circuit(x, y)
	case "gradient":
		return color.NRGBA{uint8(x * 255 / sampleSide), uint8(y * 255 / sampleSide), uint8(255 - (x+y)*127/sampleSide), 255}
	case "plasma":
		v := math.Sin(float64(x)/5) + math.Sin(float64(y)/7) + math.Sin(float64(x+y)/9)
		return color.NRGBA{wave(v), wave(v + 2), wave(v + 4), 255}
	default: // rings
		d := math.Hypot(float64(x)-sampleSide/2+.5, float64(y)-sampleSide/2+.5)
		return color.NRGBA{40, wave(d / 1.5), 160, 255}
	}
}

// circuit draws traces and pads on a green board.
func circuit(x, y int) color.NRGBA {
	switch {
	case x%11 >= 4 && x%11 <= 6 && y%11 >= 4 && y%11 <= 6:
		return color.NRGBA{222, 184, 92, 255}
	case y%11 == 5 && x < sampleSide*3/4 || x%11 == 5 && y > sampleSide/4:
		return color.NRGBA{64, 150, 84, 255}
	}
	return color.NRGBA{14, 78, 44, 255}
}

// wave maps a phase to 0..255.
func wave(v float64) uint8 {
	return uint8(math.Round(127.5 + 127.5*math.Sin(v)))
}
