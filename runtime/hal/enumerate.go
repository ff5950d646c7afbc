package hal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// mmio32End is the end of the space for 32-bit BARs: the I/O APIC of a PC is at
// this address.
const mmio32End = 0xfec00000

// messageStride is the distance of the message addresses of two devices, as set
// by the destination field of an x86 message address.
const messageStride = 1 << 12

// maxCaps is the number of capabilities that fit into the 192 bytes after the
// header (PCI 3.0 §6.7).
const maxCaps = 48

// Fields of a BAR (PCI 3.0 §6.2.5.1) that are not in pcicfg, which describes a
// single device.
const (
	barIO       = 1 << 0
	barType     = 3 << 1
	headerMulti = 0x80 // in the header type: multi-function device
)

// leastPayload is the payload that every function accepts, in bytes.
const leastPayload = 128

// Words of an MSI-X table entry (PCI 3.0 §6.8.2), in bytes.
const (
	msixStride  = 16
	msixControl = 12
)

// Attach enumerates the device at the other end of link: identity, header type,
// sizes and addresses of BARs, capabilities, MSI-X (vector v is message v),
// memory decode, bus mastering. It fails with ErrEnumerate if the device is not
// the GPU described by pcicfg, with ErrNoDevice if there is no device or its
// identity differs, or with an error of the link. On failure memory decode and
// bus mastering are disabled and the link stays open.
func (m *Machine) Attach(t *ddi.Thread, link bus.Link, clock bus.Clock) (*Device, error) {
	d := &Device{machine: m, link: link, clock: clock}
	e := enumerator{d: d, link: link}
	if err := m.register(d); err != nil {
		return nil, e.quiesce(err)
	}
	if err := e.run(); err != nil {
		m.unregister(d)
		return nil, e.quiesce(err)
	}
	d.Deliver(t)
	return d, nil
}

// register assigns a message address to d.
func (m *Machine) register(d *Device) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d.address = MessageBase + uint64(len(m.devices))*messageStride
	if d.address >= MessageEnd {
		return fmt.Errorf("%w: all %d message addresses are in use", ErrEnumerate, len(m.devices))
	}
	m.devices = append(m.devices, d)
	return nil
}

// quiesce disables decode and bus mastering after a failure, and returns it. If the
// link has failed too, the error says so.
func (e *enumerator) quiesce(failure error) error {
	if err := e.link.WriteConfig(pcicfg.Command, 0); err != nil {
		return fmt.Errorf("%w; the device may still be enabled: %w", failure, err)
	}
	return failure
}

// unregister makes messages to d's address errors. The address is not reused.
func (m *Machine) unregister(d *Device) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.devices {
		if m.devices[i] == d {
			m.devices[i] = nil
		}
	}
}

// Detach disables bus mastering, memory decode and MSI-X, drops latched
// messages and closes the link. It performs all steps even if one fails, and
// returns the failures. Further calls do nothing.
func (d *Device) Detach(t *ddi.Thread) error {
	d.mu.Lock()
	again := d.detached
	d.detached = true
	d.latched, d.queued = nil, false
	d.mu.Unlock()
	if again {
		return nil
	}
	err := d.link.WriteConfig(pcicfg.Command, 0)
	if err == nil {
		err = d.link.WriteConfig(d.msix, 0)
	}
	d.machine.unregister(d)
	return errors.Join(err, d.link.Close())
}

// An enumerator enumerates one device. It stops at the first error.
type enumerator struct {
	d      *Device
	link   bus.Link
	before *Device // earlier result; nil for the first enumeration
	err    error
}

func (e *enumerator) read(off int) uint32 {
	if e.err != nil {
		return 0
	}
	v, err := e.link.ReadConfig(off)
	if err != nil {
		e.err = fmt.Errorf("hal: enumeration: read of configuration %#x: %w", off, err)
	}
	return v
}

func (e *enumerator) write(off int, v uint32) {
	if e.err != nil {
		return
	}
	if err := e.link.WriteConfig(off, v); err != nil {
		e.err = fmt.Errorf("hal: enumeration: write of configuration %#x: %w", off, err)
	}
}

func (e *enumerator) failf(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("%w: %s", ErrEnumerate, fmt.Sprintf(format, args...))
	}
}

// failAbsent is failf for a missing device.
func (e *enumerator) failAbsent(format string, args ...any) {
	e.err = fmt.Errorf("%w: %s", ErrNoDevice, fmt.Sprintf(format, args...))
}

func (e *enumerator) run() error {
	e.identify()
	e.write(pcicfg.Command, 0)
	for i := 0; i < 6 && e.err == nil; {
		i += e.bar(i)
	}
	at := e.findCap(pcicfg.MSIXCapID)
	e.write(pcicfg.Command, pcicfg.CommandMemory|pcicfg.CommandINTxDisable)
	e.enableMSIX(at)
	e.setPayload()
	e.write(pcicfg.Command, pcicfg.CommandMemory|pcicfg.CommandBusMaster|pcicfg.CommandINTxDisable)
	return e.err
}

// setPayload sets the Max_Payload_Size of the device to the largest one that it and the
// link support (PCIe 3.0 §7.8.4). Without a PCI Express capability it stays 128 bytes.
func (e *enumerator) setPayload() {
	link, ok := bus.As[bus.PayloadLink](e.link)
	if !ok || e.err != nil || link.MaxPayload() <= leastPayload {
		return
	}
	at := e.findCap(pcicfg.PCIeCapID)
	if at == 0 {
		return
	}
	supported := leastPayload << (e.read(at+pcicfg.DevCap-pcicfg.PCIe) & pcicfg.DevCapMaxPayload)
	size := bits.Len(uint(min(supported, link.MaxPayload()))/leastPayload) - 1
	control := at + pcicfg.DevCtl - pcicfg.PCIe
	const status = 0xffff << 16 // its bits are write-1-to-clear
	e.write(control, e.read(control)&^(status|pcicfg.DevCtlMaxPayload)|uint32(size)<<5)
}

func (e *enumerator) identify() {
	id := e.read(pcicfg.ID)
	switch {
	case e.err != nil:
		return
	case id == 0xffffffff || id == 0:
		e.failAbsent("identity reads %#08x", id)
	case id != pcicfg.VendorID|pcicfg.DeviceID<<16:
		e.failAbsent("device %04x:%04x, want %04x:%04x", id&0xffff, id>>16, pcicfg.VendorID, pcicfg.DeviceID)
	}
	e.d.info.VendorID, e.d.info.DeviceID = uint16(id), uint16(id>>16)
	if typ := e.read(pcicfg.Header) >> 16 & 0xff; typ&^headerMulti != 0 {
		e.failf("header type %#02x, want 0", typ)
	}
}

// bar sizes and places BAR i. It returns 2 for a 64-bit BAR, which uses two,
// and 1 for any other.
func (e *enumerator) bar(i int) int {
	off := pcicfg.BAR0 + 4*i
	e.write(off, 0xffffffff)
	lo := e.read(off)
	if e.err != nil || lo == 0 {
		return 1
	}
	wide := lo&barType == pcicfg.BARMem64
	hi, n := uint32(0xffffffff), 1
	if wide && i < 5 {
		e.write(off+4, 0xffffffff)
		hi, n = e.read(off+4), 2
	}
	mask := uint64(hi)<<32 | uint64(lo&^pcicfg.BARFlags)
	size := -mask
	switch {
	case lo&barIO != 0:
		e.failf("BAR %d requests I/O space, want memory space: sizes as %#08x", i, lo)
	case wide && i == 5 || lo&barType != 0 && !wide:
		e.failf("BAR %d has an invalid type: sizes as %#08x", i, lo)
	case bits.OnesCount64(size) != 1:
		e.failf("BAR %d: size %#x is not a power of two: sizes as %#08x %#08x", i, size, hi, lo)
	}
	e.place(i, size, lo, wide)
	return n
}

// place assigns an address to BAR i. A 64-bit prefetchable BAR goes above 4
// GiB, as in the windows of a bridge.
func (e *enumerator) place(i int, size uint64, flags uint32, wide bool) {
	if e.err != nil {
		return
	}
	addr, ok := e.address(i, size, wide && flags&pcicfg.BARPrefetchable != 0)
	if !ok {
		e.failf("BAR %d: no address space for %#x bytes", i, size)
		return
	}
	if e.err != nil {
		return
	}
	e.d.info.BARs[i], e.d.bars[i] = size, addr
	off := pcicfg.BAR0 + 4*i
	e.write(off, uint32(addr))
	got := uint64(e.read(off) &^ pcicfg.BARFlags)
	if wide {
		e.write(off+4, uint32(addr>>32))
		got |= uint64(e.read(off+4)) << 32
	}
	if got != addr {
		e.failf("BAR %d: reads %#x after %#x was written", i, got, addr)
	}
}

// address returns an address for BAR i. If it had one before, the address is
// the same.
func (e *enumerator) address(i int, size uint64, above4G bool) (uint64, bool) {
	if e.before == nil {
		return e.d.machine.allocMMIO(size, above4G)
	}
	if was := e.before.info.BARs[i]; was != size {
		e.failf("BAR %d has %#x bytes, want %#x as before", i, size, was)
		return 0, true
	}
	return e.before.bars[i], true
}

// allocMMIO returns an address for a BAR of size bytes, a power of two.
func (m *Machine) allocMMIO(size uint64, above4G bool) (uint64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next, end := &m.mmio32, uint64(mmio32End)
	if above4G {
		next, end = &m.mmio64, 1<<62
	}
	size = max(size, PageSize)
	addr := (*next + size - 1) &^ (size - 1)
	if addr < *next || addr > end || size > end-addr {
		return 0, false
	}
	*next = addr + size
	return addr, true
}

// findCap returns the offset of a capability, or 0 (PCI 3.0 §6.7).
func (e *enumerator) findCap(id uint32) int {
	if e.read(pcicfg.Command)&pcicfg.StatusCapList == 0 {
		e.failf("no capability list")
		return 0
	}
	off := int(e.read(pcicfg.CapPtr) & 0xfc)
	for n := 0; off >= 0x40 && e.err == nil; n++ {
		v := e.read(off)
		if e.err == nil && v&0xff == id {
			return off
		}
		off = int(v >> 8 & 0xfc)
		if n == maxCaps {
			e.failf("capability list does not end")
		}
	}
	return 0
}

// enableMSIX programs the vector table under the function mask, so that no
// partially written entry is used, and enables MSI-X.
func (e *enumerator) enableMSIX(at int) {
	if at == 0 {
		e.failf("no MSI-X capability")
		return
	}
	ctl, table := e.read(at), e.read(at+4)
	bar, off := int(table&7), uint64(table&^7)
	n := int(ctl&pcicfg.MSIXSize>>16) + 1
	if e.err != nil {
		return
	}
	if bar > 5 || off+uint64(n)*msixStride > e.d.info.BARs[bar] {
		e.failf("MSI-X table of %d vectors at BAR %d offset %#x is outside the BAR", n, bar, off)
		return
	}
	e.d.mu.Lock()
	e.d.info.Messages, e.d.msix = n, at
	e.d.mu.Unlock()
	e.write(at, pcicfg.MSIXEnable|pcicfg.MSIXFunctionMask)
	for v := range n {
		e.vector(bar, off+uint64(v)*msixStride, v)
	}
	e.write(at, pcicfg.MSIXEnable)
}

// vector programs one entry and reads it back.
func (e *enumerator) vector(bar int, off uint64, v int) {
	if e.err != nil {
		return
	}
	var want, got [msixStride]byte
	binary.LittleEndian.PutUint64(want[:], e.d.address)
	binary.LittleEndian.PutUint32(want[8:], uint32(v))
	err := e.link.Write(bar, off, want[:])
	if err == nil {
		err = e.link.Read(bar, off, got[:])
	}
	if err != nil {
		e.err = fmt.Errorf("hal: enumeration: MSI-X vector %d: %w", v, err)
		return
	}
	if got != want {
		e.failf("MSI-X vector %d reads %x after %x was written", v, got, want)
	}
}
