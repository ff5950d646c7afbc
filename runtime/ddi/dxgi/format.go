// Package dxgi declares the DXGI types that the API and the user-mode DDI
// share: formats and their layout.
package dxgi

// Format is DXGI_FORMAT, with its values (dxgiformat.h).
type Format uint32

// The supported formats.
const (
	Unknown              Format = 0
	R32G32B32A32Typeless Format = 1
	R32G32B32A32Float    Format = 2
	R32G32B32A32UInt     Format = 3
	R32G32B32A32SInt     Format = 4
	R16G16B16A16Typeless Format = 9
	R16G16B16A16Float    Format = 10
	R16G16B16A16UNorm    Format = 11
	R16G16B16A16UInt     Format = 12
	R32G32Typeless       Format = 15
	R32G32Float          Format = 16
	R32G32UInt           Format = 17
	R32G32SInt           Format = 18
	R8G8B8A8Typeless     Format = 27
	R8G8B8A8UNorm        Format = 28
	R8G8B8A8UNormSRGB    Format = 29
	R8G8B8A8UInt         Format = 30
	R8G8B8A8SNorm        Format = 31
	R8G8B8A8SInt         Format = 32
	R16G16Typeless       Format = 33
	R16G16Float          Format = 34
	R16G16UNorm          Format = 35
	R16G16UInt           Format = 36
	R16G16SNorm          Format = 37
	R16G16SInt           Format = 38
	R32Typeless          Format = 39
	D32Float             Format = 40
	R32Float             Format = 41
	R32UInt              Format = 42
	R32SInt              Format = 43
	R24G8Typeless        Format = 44
	D24UNormS8UInt       Format = 45
	R8UNorm              Format = 61
	R8UInt               Format = 62
	A8UNorm              Format = 65
	R9G9B9E5SharedExp    Format = 67
	B8G8R8A8UNorm        Format = 87
	B8G8R8A8Typeless     Format = 90
	B8G8R8A8UNormSRGB    Format = 91
)

// Kind is the encoding of the components of a format.
type Kind uint8

// The encodings.
const (
	Typeless Kind = iota
	UNorm
	UNormSRGB
	SNorm
	UInt
	SInt
	Float
	SharedExp
	Depth
)

// Info describes a format.
type Info struct {
	Name   string // as in dxgiformat.h, without the prefix
	Bytes  int    // size of an element in bytes
	Family Format // typeless member of its family, or the format itself
	Kind   Kind
	Bits   int    // bits per component, equal for all except in SharedExp and Depth
	Order  string // components in memory, lowest byte first: "RGBA", "BGRA", "RG", "R", "A"
}

var infos = map[Format]Info{
	R32G32B32A32Typeless: {"R32G32B32A32_TYPELESS", 16, R32G32B32A32Typeless, Typeless, 32, "RGBA"},
	R32G32B32A32Float:    {"R32G32B32A32_FLOAT", 16, R32G32B32A32Typeless, Float, 32, "RGBA"},
	R32G32B32A32UInt:     {"R32G32B32A32_UINT", 16, R32G32B32A32Typeless, UInt, 32, "RGBA"},
	R32G32B32A32SInt:     {"R32G32B32A32_SINT", 16, R32G32B32A32Typeless, SInt, 32, "RGBA"},
	R16G16B16A16Typeless: {"R16G16B16A16_TYPELESS", 8, R16G16B16A16Typeless, Typeless, 16, "RGBA"},
	R16G16B16A16Float:    {"R16G16B16A16_FLOAT", 8, R16G16B16A16Typeless, Float, 16, "RGBA"},
	R16G16B16A16UNorm:    {"R16G16B16A16_UNORM", 8, R16G16B16A16Typeless, UNorm, 16, "RGBA"},
	R16G16B16A16UInt:     {"R16G16B16A16_UINT", 8, R16G16B16A16Typeless, UInt, 16, "RGBA"},
	R32G32Typeless:       {"R32G32_TYPELESS", 8, R32G32Typeless, Typeless, 32, "RG"},
	R32G32Float:          {"R32G32_FLOAT", 8, R32G32Typeless, Float, 32, "RG"},
	R32G32UInt:           {"R32G32_UINT", 8, R32G32Typeless, UInt, 32, "RG"},
	R32G32SInt:           {"R32G32_SINT", 8, R32G32Typeless, SInt, 32, "RG"},
	R8G8B8A8Typeless:     {"R8G8B8A8_TYPELESS", 4, R8G8B8A8Typeless, Typeless, 8, "RGBA"},
	R8G8B8A8UNorm:        {"R8G8B8A8_UNORM", 4, R8G8B8A8Typeless, UNorm, 8, "RGBA"},
	R8G8B8A8UNormSRGB:    {"R8G8B8A8_UNORM_SRGB", 4, R8G8B8A8Typeless, UNormSRGB, 8, "RGBA"},
	R8G8B8A8UInt:         {"R8G8B8A8_UINT", 4, R8G8B8A8Typeless, UInt, 8, "RGBA"},
	R8G8B8A8SNorm:        {"R8G8B8A8_SNORM", 4, R8G8B8A8Typeless, SNorm, 8, "RGBA"},
	R8G8B8A8SInt:         {"R8G8B8A8_SINT", 4, R8G8B8A8Typeless, SInt, 8, "RGBA"},
	R16G16Typeless:       {"R16G16_TYPELESS", 4, R16G16Typeless, Typeless, 16, "RG"},
	R16G16Float:          {"R16G16_FLOAT", 4, R16G16Typeless, Float, 16, "RG"},
	R16G16UNorm:          {"R16G16_UNORM", 4, R16G16Typeless, UNorm, 16, "RG"},
	R16G16UInt:           {"R16G16_UINT", 4, R16G16Typeless, UInt, 16, "RG"},
	R16G16SNorm:          {"R16G16_SNORM", 4, R16G16Typeless, SNorm, 16, "RG"},
	R16G16SInt:           {"R16G16_SINT", 4, R16G16Typeless, SInt, 16, "RG"},
	R32Typeless:          {"R32_TYPELESS", 4, R32Typeless, Typeless, 32, "R"},
	D32Float:             {"D32_FLOAT", 4, R32Typeless, Depth, 32, "R"},
	R32Float:             {"R32_FLOAT", 4, R32Typeless, Float, 32, "R"},
	R32UInt:              {"R32_UINT", 4, R32Typeless, UInt, 32, "R"},
	R32SInt:              {"R32_SINT", 4, R32Typeless, SInt, 32, "R"},
	R24G8Typeless:        {"R24G8_TYPELESS", 4, R24G8Typeless, Typeless, 24, "R"},
	D24UNormS8UInt:       {"D24_UNORM_S8_UINT", 4, R24G8Typeless, Depth, 24, "R"},
	R8UNorm:              {"R8_UNORM", 1, R8UNorm, UNorm, 8, "R"},
	R8UInt:               {"R8_UINT", 1, R8UInt, UInt, 8, "R"},
	A8UNorm:              {"A8_UNORM", 1, A8UNorm, UNorm, 8, "A"},
	R9G9B9E5SharedExp:    {"R9G9B9E5_SHAREDEXP", 4, R9G9B9E5SharedExp, SharedExp, 9, "RGB"},
	B8G8R8A8UNorm:        {"B8G8R8A8_UNORM", 4, B8G8R8A8Typeless, UNorm, 8, "BGRA"},
	B8G8R8A8Typeless:     {"B8G8R8A8_TYPELESS", 4, B8G8R8A8Typeless, Typeless, 8, "BGRA"},
	B8G8R8A8UNormSRGB:    {"B8G8R8A8_UNORM_SRGB", 4, B8G8R8A8Typeless, UNormSRGB, 8, "BGRA"},
}

// Info returns the description of f. It reports false if f is not supported.
func (f Format) Info() (Info, bool) {
	i, ok := infos[f]
	return i, ok
}

// String returns the name of f without the DXGI_FORMAT_ prefix.
func (f Format) String() string {
	if i, ok := infos[f]; ok {
		return i.Name
	}
	return "UNKNOWN"
}

// SampleDesc is DXGI_SAMPLE_DESC.
type SampleDesc struct {
	Count, Quality uint32
}
