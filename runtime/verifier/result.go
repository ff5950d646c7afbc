package verifier

import (
	"bytes"
	"encoding/binary"

	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// overwrite fills output memory with the poison, to find what the driver does not
// write, and returns what it was.
func overwrite(p []byte) []byte {
	old := bytes.Clone(p)
	for i := range p {
		p[i] = poison & 0xff
	}
	return old
}

// boolean reports whether a query has a BOOL as its result.
func boolean(q umddi.QueryType) bool {
	return q == umddi.QueryEvent || q == umddi.QueryOcclusionPredicate || q == umddi.QueryOverflowPredicate
}

// endGetData checks the result of a query. If there is none, the memory gets its
// former content.
func (k *Checker) endGetData(fr *frame) {
	data, o := fr.args[2].([]byte), fr.created
	if len(fr.errors) > 0 || o == nil || len(data) < 4 {
		copy(data, fr.saved)
		return
	}
	value := binary.LittleEndian.Uint32(data)
	switch {
	case bytes.Count(data, []byte{poison & 0xff}) == len(data):
		k.failBy(fr, Missing("pfnSetErrorCb", fr.f.Name), "query-result", "returns without an error in pfnSetErrorCb and has written no result of %v", o)
		copy(data, fr.saved)
	case boolean(o.query) && value > 1:
		k.fail(fr, "query-result", "the BOOL of %v is %#x, want TRUE or FALSE", o, value)
	case o.query == umddi.QueryEvent && value == 0:
		k.fail(fr, "query-result", "the event of %v is FALSE, want TRUE, or %v in pfnSetErrorCb", o, resultOf[2])
	}
}

// formatBits are the bits of CheckFormatSupport, and needed those of
// R8G8B8A8_UNORM, which every device of feature level 11_0 can render to.
const (
	formatBits = umddi.FormatShaderSample | umddi.FormatRenderTarget | umddi.FormatBlendable | umddi.FormatMultisample | umddi.FormatTexture2D | umddi.FormatCopy
	needed     = umddi.FormatRenderTarget | umddi.FormatTexture2D | umddi.FormatCopy
)

// checkFormat checks the result of CheckFormatSupport.
func (k *Checker) checkFormat(fr *frame, bits uint32) {
	f := fr.args[1].(dxgi.Format)
	switch {
	case bits&^formatBits != 0:
		k.fail(fr, "format-support", "returns %#x for %v (%d), want only bits of %#x", bits, f, f, uint32(formatBits))
	case f == dxgi.R8G8B8A8UNorm && bits&needed != needed:
		k.fail(fr, "format-support", "returns %#x for %v (%d), want %#x, to copy and to render", bits, f, f, uint32(needed))
	}
}
