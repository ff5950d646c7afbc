package verifier

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// maxPrivate is the largest size of private memory, in bytes.
const maxPrivate = 1 << 20

// checkRange checks a size or a count that the driver returned.
func (k *Checker) checkRange(fr *frame, n int) {
	if n < 0 || n > maxPrivate {
		k.fail(fr, "size-range", "returns %d, want 0 to %d", n, maxPrivate)
	}
}

// An extent is the size of a mip level.
type extent struct {
	row  uint64 // bytes
	rows uint64
}

// extentsOf returns the sizes of the mip levels of a resource. It returns nil if
// they are unknown.
func extentsOf(arg *umddi.CreateResource) []extent {
	element := uint64(1)
	if arg.ResourceDimension != umddi.Buffer {
		info, ok := arg.Format.Info()
		if !ok {
			return nil
		}
		element = uint64(info.Bytes)
	}
	var out []extent
	for _, m := range arg.MipInfoList {
		out = append(out, extent{uint64(m.TexelWidth) * element, uint64(max(1, m.TexelHeight))})
	}
	return out
}

// checkMapped checks the memory that a map function returned.
func (k *Checker) checkMapped(fr *frame, rets []any) {
	o := fr.created
	if o == nil || len(fr.errors) > 0 || len(o.mips) == 0 {
		return
	}
	m := rets[0].(umddi.Mapped)
	e := o.mips[int(fr.args[2].(uint32))%len(o.mips)]
	pitch := uint64(m.RowPitch)
	switch need := (e.rows-1)*pitch + e.row; {
	case e.rows > 1 && pitch < e.row:
		k.fail(fr, "map-result", "RowPitch is %d, want at least %d, a row of %v, or an error in pfnSetErrorCb", pitch, e.row, o.source())
	case uint64(len(m.Data)) < need:
		k.fail(fr, "map-result", "Data has %d bytes, want at least %d: %d rows of %v with a pitch of %d, or an error in pfnSetErrorCb", len(m.Data), need, e.rows, o.source(), pitch)
	}
}

// checkReadOnly checks that memory that the CPU writes was not locked only for
// reading.
func (k *Checker) checkReadOnly(fr *frame, m umddi.Mapped) {
	if typ, ok := fr.args[3].(umddi.Map); !ok || typ == umddi.MapRead || len(m.Data) == 0 {
		return
	}
	for _, l := range fr.readOnly {
		for i := range l.Data {
			if &l.Data[i] == &m.Data[0] {
				k.failBy(fr, &Culprit{Function: "pfnLockCb", Call: l.call, Argument: "argument ReadOnly", Why: fmt.Sprintf("is TRUE for allocation %#x", l.Allocation)},
					"lock-readonly", "returns memory to write of allocation %#x, which pfnLockCb locked with ReadOnly", l.Allocation)
				return
			}
		}
	}
}

// checkPresented checks the result of Present.
func (k *Checker) checkPresented(fr *frame, hr ddi.HRESULT) {
	switch hr {
	case ddi.DDIDeviceRemoved:
		k.checkRemoved(fr, "returns")
	case ddi.OK, ddi.EOutOfMemory, ddi.DDIStillDrawing:
	default:
		if hr.Failed() {
			k.fail(fr, "present-result", "returns %v, want S_OK, %v, %v or %v", hr, ddi.EOutOfMemory, ddi.DDIStillDrawing, ddi.DDIDeviceRemoved)
		}
	}
}
