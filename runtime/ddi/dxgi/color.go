package dxgi

import (
	"math"
	"strings"
)

// Renderable reports whether a format can be used for a render target: its
// elements must have at most 8 bytes for a fill, and colours must be
// convertible to it.
func (f Info) Renderable() bool {
	switch f.Kind {
	case UNorm, UNormSRGB, SNorm, UInt, SInt, Float:
		return f.Bytes <= 8
	}
	return false
}

// Pattern converts a colour (red, green, blue, alpha) to a renderable format
// and returns 8 bytes of its elements.
func (f Info) Pattern(color [4]float32) uint64 {
	element := uint64(0)
	for i, component := range f.Order {
		c := strings.IndexRune("RGBA", component)
		element |= component64(f, color[c], c == 3) << (i * f.Bits)
	}
	for n := 8 * f.Bytes; n < 64; n *= 2 {
		element |= element << n
	}
	return element
}

// component64 converts one component to the low f.Bits bits. The conversions
// are those of the Direct3D 11.3 functional specification, section 3.2.3, and
// for smaller floats section 3.2.2.
func component64(f Info, v float32, alpha bool) uint64 {
	c := float64(v)
	switch f.Kind {
	case UNorm:
		return unorm(c, f.Bits)
	case UNormSRGB:
		if !alpha {
			c = srgb(c)
		}
		return unorm(c, f.Bits)
	case SNorm:
		return snorm(c, f.Bits)
	case UInt:
		return uint64(clamp(c, 0, float64(uint64(1)<<f.Bits-1)))
	case SInt:
		limit := float64(uint64(1) << (f.Bits - 1))
		return uint64(int64(clamp(c, -limit, limit-1))) & (1<<f.Bits - 1)
	}
	if f.Bits == 16 {
		return uint64(half(v))
	}
	return uint64(math.Float32bits(v))
}

// clamp returns v in [lo, hi], and 0 for NaN.
func clamp(v, lo, hi float64) float64 {
	if v != v {
		return 0
	}
	return min(max(v, lo), hi)
}

func unorm(c float64, bits int) uint64 {
	return uint64(clamp(c, 0, 1)*float64(uint64(1)<<bits-1) + 0.5)
}

func snorm(c float64, bits int) uint64 {
	scaled := clamp(c, -1, 1) * float64(uint64(1)<<(bits-1)-1)
	return uint64(int64(scaled+math.Copysign(0.5, scaled))) & (1<<bits - 1)
}

// srgb converts a linear component to the sRGB curve.
func srgb(c float64) float64 {
	c = clamp(c, 0, 1)
	if c <= 0.0031308 {
		return 12.92 * c
	}
	return 1.055*math.Pow(c, 1/2.4) - 0.055
}

// half converts to a 16-bit float, rounding toward zero: a finite value out of
// range becomes the largest finite one; infinities and NaN are preserved.
func half(v float32) uint16 {
	b := math.Float32bits(v)
	sign := uint16(b >> 16 & 0x8000)
	exp, mantissa := int(b>>23&0xff)-127, b&0x7fffff
	switch {
	case exp == 128 && mantissa != 0:
		return sign | 0x7e00
	case exp == 128:
		return sign | 0x7c00
	case exp > 15:
		return sign | 0x7bff
	case exp >= -14:
		return sign | uint16(exp+15)<<10 | uint16(mantissa>>13)
	case exp >= -24:
		return sign | uint16((mantissa|0x800000)>>(-1-exp))
	}
	return sign
}
