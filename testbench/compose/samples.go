package compose

import (
	"embed"
	"fmt"
	"image/png"
)

// sampleSide is the width and height of each sample image, in pixels.
const sampleSide = 44

//go:embed samples/*.png
var sampleFiles embed.FS

// sampleNames lists the sample images, in the order of Samples.
var sampleNames = [...]string{"bars", "checker", "circuit", "gradient", "plasma", "rings"}

// SamplePlan returns the plan of o with the images of Samples as its sources. It
// fails with ErrInput, as NewPlan does.
func SamplePlan(o Options) (*Plan, error) {
	var err error
	if o.Sources, err = Samples(); err != nil {
		return nil, err
	}
	return NewPlan(o)
}

// Samples returns the images that come with the repository: small opaque tiles, at
// most 8 KiB each as RGBA, stored as PNG.
func Samples() ([]Source, error) {
	var out []Source
	for _, name := range sampleNames {
		f, err := sampleFiles.Open("samples/" + name + ".png")
		if err != nil {
			return nil, fmt.Errorf("compose: %w", err)
		}
		img, err := png.Decode(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("compose: sample %s: %w", name, err)
		}
		out = append(out, Source{Name: name, Image: convert(img)})
	}
	return out, nil
}
