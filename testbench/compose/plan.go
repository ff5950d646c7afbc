// Package compose is a workload that composes images into a frame. It uploads the
// images, records their placement concurrently on several deferred contexts,
// executes the command lists, presents the frame and reads it back.
package compose

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	_ "image/jpeg" // registers the decoder
	_ "image/png"  // registers the decoder
	"io"
	"math/rand/v2"
	"os"
)

// ErrInput is wrapped by every error that is caused by the caller's images or
// numbers.
var ErrInput = errors.New("compose")

// MaxSide is the largest width and height of an image or a frame, in pixels.
const MaxSide = 16384

// MaxPixels is the largest number of pixels of an image; no GPU has more than 256
// MiB of VRAM. A file of a few bytes may claim any size, so Load checks it before
// it decodes the image.
const MaxPixels = 256 << 20 / 4

// MaxContexts is the largest number of deferred contexts.
const MaxContexts = 64

// placements is the minimum number of placements per context.
const placements = 24

// A Source is an image to place: 8 bits per channel, alpha not premultiplied.
type Source struct {
	Name  string
	Image *image.NRGBA
}

// Options are the frame, the contexts and the images of a composition.
type Options struct {
	Width, Height int // size of the frame in pixels, 1 to MaxSide
	Contexts      int // deferred contexts, 1 to MaxContexts
	Seed          uint64
	Sources       []Source // at least one

	// Think, if not nil, is called where the application does something else: Run gives the GPU
	// each upload and each executed list at once, and then calls Think.
	Think func()
}

// placement is one image at one position, clipped to the frame.
type placement struct {
	source int
	at     image.Point     // position in the frame
	part   image.Rectangle // part of the source
}

// A Plan lists the placements that each context records, in order. Equal options
// give equal plans.
type Plan struct {
	Options

	background color.NRGBA
	lists      [][]placement
}

// Load reads an image file, PNG or JPEG.
func Load(path string) (Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return Source{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	defer f.Close()
	cfg, _, err := image.DecodeConfig(f)
	if err != nil {
		return Source{}, fmt.Errorf("%w: %s: %w", ErrInput, path, err)
	}
	if cfg.Width < 1 || cfg.Height < 1 || cfg.Width > MaxSide || cfg.Height > MaxSide || cfg.Width*cfg.Height > MaxPixels {
		return Source{}, fmt.Errorf("%w: %s: %d x %d pixels, want 1 to %d in width and height and at most %d pixels, the capacity of a GPU's memory",
			ErrInput, path, cfg.Width, cfg.Height, MaxSide, MaxPixels)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Source{}, fmt.Errorf("%w: %s: %w", ErrInput, path, err)
	}
	img, _, err := image.Decode(f)
	if err != nil {
		return Source{}, fmt.Errorf("%w: %s: %w", ErrInput, path, err)
	}
	return Source{Name: path, Image: convert(img)}, nil
}

// convert returns img as NRGBA with its origin at 0, 0 and no padding. If img is
// not premultiplied either, channels are copied unchanged, whatever the alpha is;
// of 16-bit channels, the upper 8 bits.
func convert(img image.Image) *image.NRGBA {
	b := img.Bounds()
	out := image.NewNRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	switch img := img.(type) {
	case *image.NRGBA:
		for y := range b.Dy() {
			copy(out.Pix[y*out.Stride:][:4*b.Dx()], img.Pix[img.PixOffset(b.Min.X, b.Min.Y+y):])
		}
	case *image.NRGBA64:
		for y := range b.Dy() {
			from := img.Pix[img.PixOffset(b.Min.X, b.Min.Y+y):]
			for i := range 4 * b.Dx() {
				out.Pix[y*out.Stride+i] = from[2*i]
			}
		}
	case *image.Paletted:
		for y := range b.Dy() {
			for x := range b.Dx() {
				out.Set(x, y, img.At(b.Min.X+x, b.Min.Y+y))
			}
		}
	default:
		draw.Draw(out, out.Rect, img, b.Min, draw.Src)
	}
	return out
}

// NewPlan checks the options and places the images.
func NewPlan(o Options) (*Plan, error) {
	switch {
	case o.Width < 1 || o.Height < 1 || o.Width > MaxSide || o.Height > MaxSide:
		return nil, fmt.Errorf("%w: frame of %dx%d pixels, want 1 to %d in width and height", ErrInput, o.Width, o.Height, MaxSide)
	case o.Contexts < 1 || o.Contexts > MaxContexts:
		return nil, fmt.Errorf("%w: %d contexts, want 1 to %d", ErrInput, o.Contexts, MaxContexts)
	case len(o.Sources) == 0:
		return nil, fmt.Errorf("%w: no images", ErrInput)
	}
	r := rand.New(rand.NewPCG(o.Seed, 0))
	p := &Plan{Options: o, background: color.NRGBA{uint8(r.UintN(64)), uint8(r.UintN(64)), uint8(r.UintN(64)), 255}}
	perList := max(placements, (len(o.Sources)+o.Contexts-1)/o.Contexts)
	for c := range o.Contexts {
		var list []placement
		for i := range perList {
			if pl, ok := p.place((c+i*o.Contexts)%len(o.Sources), r); ok {
				list = append(list, pl)
			}
		}
		p.lists = append(p.lists, list)
	}
	return p, nil
}

// place puts a source at a random position, at most half of it outside the frame,
// and clips it. It reports whether any of it is left.
func (p *Plan) place(source int, r *rand.Rand) (placement, bool) {
	size := p.Sources[source].Image.Rect.Size()
	at := image.Pt(r.IntN(p.Width+1)-size.X/2, r.IntN(p.Height+1)-size.Y/2)
	visible := image.Rectangle{Min: at, Max: at.Add(size)}.Intersect(image.Rect(0, 0, p.Width, p.Height))
	return placement{source: source, at: visible.Min, part: visible.Sub(at)}, !visible.Empty()
}

// Reference composes the plan with image/draw. Pixels are copied as bytes: the
// images are declared premultiplied, for which draw.Src is a copy.
func (p *Plan) Reference() *image.NRGBA {
	out := image.NewNRGBA(image.Rect(0, 0, p.Width, p.Height))
	dst := raw(out)
	draw.Draw(dst, dst.Rect, image.NewUniform(color.RGBA(p.background)), image.Point{}, draw.Src)
	for _, list := range p.lists {
		for _, pl := range list {
			to := image.Rectangle{Min: pl.at, Max: pl.at.Add(pl.part.Size())}
			draw.Draw(dst, to, raw(p.Sources[pl.source].Image), pl.part.Min, draw.Src)
		}
	}
	return out
}

// raw returns the pixels of img in the type for which draw.Src copies bytes.
func raw(img *image.NRGBA) *image.RGBA {
	return &image.RGBA{Pix: img.Pix, Stride: img.Stride, Rect: img.Rect}
}

// Diff returns the first pixel that differs and the number of pixels that differ.
// Both images must have the same size.
func Diff(got, want *image.NRGBA) (first image.Point, n int) {
	for y := range want.Rect.Dy() {
		for x := range want.Rect.Dx() {
			if got.NRGBAAt(x, y) != want.NRGBAAt(x, y) {
				if n == 0 {
					first = image.Pt(x, y)
				}
				n++
			}
		}
	}
	return first, n
}
