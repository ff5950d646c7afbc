package breaks

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/testbench"
)

// lengthIn is the dword with the number of bytes in a packet.
var lengthIn = map[uint8]int{pkt.OpCopy: 5, pkt.OpFill: 3}

// lengthened makes the first linear packet of a buffer longer.
func lengthened(b []byte, by uint32) {
	for len(b) > 0 {
		l, p, rest, err := pkt.Next(b)
		if err != nil {
			return
		}
		if i := lengthIn[l.Op]; i != 0 {
			binary.LittleEndian.PutUint32(p[4*i:], binary.LittleEndian.Uint32(p[4*i:])+by)
			return
		}
		b = rest
	}
}

// trusting is a pair of drivers of which neither marks or checks what the GPU writes.
func trusting(base testbench.Drivers) testbench.Drivers {
	unmarked := callbacks(func(kt *umddi.DeviceCallbacks) {
		k := recorded(kt)
		f := kt.RenderCb
		kt.RenderCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Render) ddi.HRESULT {
			for i := range k.AllocationList[:arg.NumAllocations] {
				k.AllocationList[i].WriteOperation = false
			}
			return f(t, h, arg)
		}
	})
	unchecked := miniport(func(d *kmddi.DriverInitializationData) {
		f := d.Render
		d.Render = func(t *ddi.Thread, c kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
			list := append([]kmddi.AllocationList(nil), arg.AllocationList...)
			for i := range list {
				list[i].WriteOperation = true
			}
			arg.AllocationList = list
			return f(t, c, arg)
		}
	})
	return unchecked(unmarked(base))
}

// scribbling changes the memory of each lock for writing after a submission.
func scribbling(kt *umddi.DeviceCallbacks) {
	locked := map[ddi.KMHandle][]byte{}
	lock, render := kt.LockCb, kt.RenderCb
	kt.LockCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Lock) ddi.HRESULT {
		hr := lock(t, h, arg)
		if !hr.Failed() && !arg.ReadOnly {
			locked[arg.Allocation] = arg.Data
		}
		return hr
	}
	kt.RenderCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Render) ddi.HRESULT {
		hr := render(t, h, arg)
		for _, data := range locked {
			for i := range data {
				data[i] ^= 0xff
			}
		}
		return hr
	}
}

// fencing sends the fences in a ring elsewhere, before each doorbell. The first memory of the miniport begins
// with the ring.
func fencing(to func(m kmddi.ContiguousMemory, arg kmddi.SubmitCommand) uint64) change {
	return miniport(func(d *kmddi.DriverInitializationData) {
		var memory kmddi.ContiguousMemory
		var last kmddi.SubmitCommand
		kernelTable(d, func(cb *kmddi.DxgkrnlInterface) {
			allocate, write := cb.AllocateContiguousMemory, cb.WriteRegister
			cb.AllocateContiguousMemory = func(t *ddi.Thread, h kmddi.HDxgkrnl, size int) (m kmddi.ContiguousMemory, s ddi.Status) {
				m, s = allocate(t, h, size)
				memory = m
				return m, s
			}
			cb.WriteRegister = func(t *ddi.Thread, h kmddi.HDxgkrnl, m kmddi.HMapping, off, v uint32) ddi.Status {
				if off == cpreg.Base+cpreg.Wptr {
					moveFences(memory.Bytes, pkt.Host|to(memory, last))
				}
				return write(t, h, m, off, v)
			}
		})
		submit := d.SubmitCommand
		d.SubmitCommand = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.SubmitCommand) ddi.Status {
			last = arg
			return submit(t, h, arg)
		}
	})
}

// moveFences gives the FENCE packets of a ring another address.
func moveFences(ring []byte, addr uint64) {
	for i := 0; i+4*(1+pkt.FenceBody) <= len(ring); i += 4 {
		if binary.LittleEndian.Uint32(ring[i:]) == pkt.OpFence<<24|pkt.FenceBody {
			binary.LittleEndian.PutUint64(ring[i+4:], addr)
		}
	}
}

// accessBreaks are mistakes that only a check of the GPU's accesses to memory detects.
func accessBreaks() []Break {
	return drawn(
		Break{
			Name: "patches nothing", Pitfall: 8, Doc: "DxgkDdiRender emits no patch location, so the GPU uses the addresses 0.",
			Rule: "access-unpatched", Function: "DxgkDdiRender",
			Drivers: rendering(func(_ kmddi.Render, out *kmddi.RenderOut, _ *ddi.Status) { out.PatchesUsed = 0 }),
		},
		Break{
			Name: "patches without AllocationOffset", Pitfall: 7, Doc: "DxgkDdiPatch leaves AllocationOffset out, so the GPU uses another part of the allocation.",
			Rule: "access-address", Function: "DxgkDdiPatch",
			Drivers: patching(func(_ kmddi.Patch, list []kmddi.PatchLocation) {
				for i := range list {
					list[i].AllocationOffset = 0
				}
			}),
		},
		Break{
			Name: "fence in the ring", Doc: "The miniport sends a fence to the start of its ring, which the GPU overwrites.",
			Rule: "access-driver", Function: "DxgkDdiSubmitCommand", Drivers: fencing(func(m kmddi.ContiguousMemory, _ kmddi.SubmitCommand) uint64 { return m.PhysicalAddress }),
		},
		Break{
			Name: "fence in the DMA buffer", Doc: "The miniport sends a fence to the DMA buffer, which the kernel uses again.",
			Rule: "access-driver", Function: "DxgkDdiSubmitCommand", Drivers: fencing(func(_ kmddi.ContiguousMemory, arg kmddi.SubmitCommand) uint64 { return arg.DmaBufferPhysicalAddress }),
		},
		Break{
			Name: "command dropped", Pitfall: 9, Doc: "DxgkDdiRender succeeds and uses nothing of the DMA buffer.",
			Rule: "access-dropped", Function: "DxgkDdiRender",
			Drivers: rendering(func(_ kmddi.Render, out *kmddi.RenderOut, _ *ddi.Status) { *out = kmddi.RenderOut{} }),
		},
		Break{
			Name: "packet past its allocation", Pitfall: 8, Doc: "DxgkDdiRender makes a packet longer than its allocation.",
			Rule: "access-bounds", Function: "DxgkDdiRender",
			Drivers: rendering(func(arg kmddi.Render, out *kmddi.RenderOut, _ *ddi.Status) {
				lengthened(arg.DmaBuffer[:out.DmaBufferUsed], 1<<16)
			}),
		},
		Break{
			Name: "WriteOperation missing and not checked", Doc: "The driver does not mark an allocation that the GPU writes, and the miniport does not check it.",
			Rule: "access-write", Function: "DxgkDdiRender", Drivers: trusting,
		},
		Break{
			Name: "memory written after the submission", Doc: "The driver keeps the pointer of a lock, and writes memory that the GPU reads.",
			Rule: "access-cpu-write", Function: "pfnLockCb", Drivers: callbacks(scribbling),
		},
		Break{
			Name: "memory read before the GPU has written it", Doc: "The driver sets IgnoreSync in each lock for reading, so it reads what the GPU has not written yet.",
			Rule: "access-lock", Function: "pfnLockCb", Own: true, Drivers: callbacks(func(kt *umddi.DeviceCallbacks) {
				lock := kt.LockCb
				kt.LockCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Lock) ddi.HRESULT {
					arg.IgnoreSync = arg.IgnoreSync || arg.ReadOnly
					return lock(t, h, arg)
				}
			}),
		},
		Break{
			Name: "paging past its allocation", Doc: "DxgkDdiBuildPagingBuffer moves or fills more than the allocation.",
			Rule: "access-paging", Function: "DxgkDdiBuildPagingBuffer",
			Drivers: paging(func(arg kmddi.BuildPagingBuffer, out *kmddi.BuildPagingBufferOut, _ *ddi.Status) {
				lengthened(arg.DmaBuffer[:out.DmaBufferUsed], 64)
			}),
		},
		Break{
			Name: "submission from the start of the buffer", Pitfall: 26, Doc: "The miniport submits a part of a split buffer from the start of the buffer, so the GPU executes earlier parts again.",
			Rule: "access-outside", Function: "DxgkDdiSubmitCommand", Work: Split, Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				f := d.SubmitCommand
				d.SubmitCommand = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.SubmitCommand) ddi.Status {
					arg.DmaBufferSubmissionStartOffset = 0
					return f(t, h, arg)
				}
			}),
		},
	)
}
