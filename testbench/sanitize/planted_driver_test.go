package sanitize_test

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A seen is what a miniport has got from the kernel.
type seen struct {
	memory  []kmddi.ContiguousMemory
	patched kmddi.Patch         // the last one
	submit  kmddi.SubmitCommand // the last one
	objects []uint64            // GPU addresses of the last allocation list
}

// buffer returns the packets of the DMA buffer that is submitted, or none of a paging buffer.
func (s *seen) buffer() []byte {
	if s.submit.Flags.Paging || s.submit.NodeOrdinal != s.patched.NodeOrdinal || s.submit.SubmissionFenceID != s.patched.SubmissionFenceID {
		return nil
	}
	return partOf(s.patched)
}

// rings returns the rings of the miniport, and its other memory.
func (s *seen) rings() (rings []kmddi.ContiguousMemory, fences kmddi.ContiguousMemory) {
	return s.memory[1:], s.memory[0]
}

// onDoorbell calls edit before random doorbells.
func onDoorbell(edit func(s *seen, r *rand.Rand) bool) func(d *kmddi.DriverInitializationData, r *rand.Rand) {
	return func(d *kmddi.DriverInitializationData, r *rand.Rand) {
		s := &seen{}
		once := often(r, func() bool { return edit(s, r) })
		start, patch, submit := d.StartDevice, d.Patch, d.SubmitCommand
		d.StartDevice = func(t *ddi.Thread, h kmddi.HAdapter, info kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
			mine := *cb
			mine.AllocateContiguousMemory = func(t *ddi.Thread, h kmddi.HDxgkrnl, size int) (kmddi.ContiguousMemory, ddi.Status) {
				m, st := cb.AllocateContiguousMemory(t, h, size)
				s.memory = append(s.memory, m)
				return m, st
			}
			mine.WriteRegister = func(t *ddi.Thread, h kmddi.HDxgkrnl, m kmddi.HMapping, off, v uint32) ddi.Status {
				if off >= cpreg.Base && (off-cpreg.Base)%cpreg.Stride == cpreg.Wptr {
					once()
				}
				return cb.WriteRegister(t, h, m, off, v)
			}
			return start(t, h, info, &mine)
		}
		d.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
			st := patch(t, h, arg)
			s.patched, s.objects = arg, nil
			for _, a := range arg.AllocationList {
				if a.SegmentID != 0 {
					s.objects = append(s.objects, a.PhysicalAddress)
				}
			}
			return st
		}
		d.SubmitCommand = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.SubmitCommand) ddi.Status {
			s.submit = arg
			return submit(t, h, arg)
		}
	}
}

// fencesTo returns an edit that sends the fences in all rings to another address.
func fencesTo(to func(s *seen, r *rand.Rand) (addr uint64, ok bool)) func(s *seen, r *rand.Rand) bool {
	return func(s *seen, r *rand.Rand) bool {
		addr, ok := to(s, r)
		rings, _ := s.rings()
		for _, m := range rings {
			for i := 0; ok && i+16 <= len(m.Bytes); i += 4 {
				if binary.LittleEndian.Uint32(m.Bytes[i:]) == pkt.OpFence<<24|pkt.FenceBody {
					binary.LittleEndian.PutUint64(m.Bytes[i+4:], addr&^7)
				}
			}
		}
		return ok
	}
}

// works returns an edit that sends an address of a packet of the last buffer to memory of the miniport.
func works(address int, to func(s *seen) uint64) func(s *seen, r *rand.Rand) bool {
	return func(s *seen, r *rand.Rand) bool {
		made := false
		for n := 0; n < 20 && !made && len(s.buffer()) > 0; n++ {
			anyPacket(s.buffer(), r, func(op uint8, p []byte) {
				if made = op == pkt.OpCopy || op == pkt.OpFill && address == 0; made {
					list := dwordOf[op].addresses
					binary.LittleEndian.PutUint64(p[4*list[len(list)-1-address]:], to(s))
					binary.LittleEndian.PutUint32(p[4*dwordOf[op].length:], 16)
				}
			})
		}
		return made
	}
}

// driverMistakes are those with the memory of the miniport.
func driverMistakes() []mistake {
	const rule = "access-driver"
	ringOf := func(s *seen, r *rand.Rand) uint64 {
		rings, _ := s.rings()
		return pkt.Host | rings[r.IntN(len(rings))].PhysicalAddress + uint64(r.IntN(4096))
	}
	fencePage := func(s *seen) uint64 {
		_, m := s.rings()
		return pkt.Host | m.PhysicalAddress + 0x400
	}
	return []mistake{
		{"a fence goes to a ring", rule, onDoorbell(fencesTo(func(s *seen, r *rand.Rand) (uint64, bool) { return ringOf(s, r), true }))},
		{"a fence goes to the DMA buffer", rule, onDoorbell(fencesTo(func(s *seen, r *rand.Rand) (uint64, bool) {
			at := s.submit.DmaBufferPhysicalAddress
			return pkt.Host | at + uint64(r.IntN(4096)), at != 0
		}))},
		{"a fence goes to an allocation", rule, onDoorbell(fencesTo(func(s *seen, r *rand.Rand) (uint64, bool) {
			if len(s.objects) == 0 {
				return 0, false
			}
			return s.objects[r.IntN(len(s.objects))], true
		}))},
		{"work writes the miniport's memory", rule, onDoorbell(works(0, fencePage))},
		{"work reads the miniport's memory", rule, onDoorbell(works(1, fencePage))},
		{"work writes a ring", rule, onDoorbell(works(0, func(s *seen) uint64 { return ringOf(s, rand.New(rand.NewPCG(1, 1))) &^ 7 }))},
	}
}
