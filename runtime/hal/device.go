package hal

import (
	"encoding/binary"
	"sync"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// Info is the result of enumeration.
type Info struct {
	VendorID, DeviceID uint16
	BARs               [6]uint64 // sizes in bytes, 0 for none
	Messages           int       // number of interrupt messages of the device
}

// Stats counts a device's interrupts.
type Stats struct {
	Messages   uint64 // messages with a vector of the device
	Merged     uint64 // of these, messages whose vector was pending already
	Interrupts uint64 // calls of the ISR
	DPCs       uint64 // calls of the DPC
	Spurious   uint64 // messages with a vector that the device does not have
	Storms     uint64 // times that Deliver returned before all messages were delivered
}

// A Device is an enumerated device: access to it, and its interrupts. Each
// method with a thread parameter ends with Deliver.
type Device struct {
	machine *Machine
	link    bus.Link
	clock   bus.Clock
	info    Info
	bars    [6]uint64 // addresses of BARs
	address uint64    // address of interrupt messages
	msix    int       // offset of the MSI-X capability

	wordMu sync.Mutex
	word   [4]byte // for 32-bit accesses, to avoid an allocation

	mu       sync.Mutex
	isr      func(t *ddi.Thread, message int)
	dpc      func(t *ddi.Thread)
	latched  []int // vectors that are pending, oldest first
	queued   bool  // the DPC is queued
	inISR    bool
	held     bool // messages wait: see Hold
	inDPC    bool
	stats    Stats
	detached bool
	down     error // first error after which the link is down

	observer Observer // nil: none
}

// Info returns the result of enumeration.
func (d *Device) Info() Info { return d.info }

// Stats returns the current counts.
func (d *Device) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stats
}

// Now returns the time in ticks since the board was opened.
func (d *Device) Now() uint64 { return d.clock.Now() }

// Hz returns the number of ticks per second.
func (d *Device) Hz() uint64 { return d.clock.Hz() }

// Read fills p from a BAR. off and len(p) are in bytes, multiples of 4. Errors
// are those of bus.Link.
func (d *Device) Read(t *ddi.Thread, bar int, off uint64, p []byte) error {
	err := d.noteDown(d.link.Read(bar, off, p))
	d.observe(t, Access{BAR: bar, Offset: off, Data: p, Err: err})
	d.Deliver(t)
	return err
}

// Write sends p to a BAR. off and len(p) are in bytes, multiples of 4. Writes
// are posted.
func (d *Device) Write(t *ddi.Thread, bar int, off uint64, p []byte) error {
	d.observe(t, Access{Write: true, BAR: bar, Offset: off, Data: p})
	err := d.noteDown(d.link.Write(bar, off, p))
	d.observeFailure(t, Access{Write: true, BAR: bar, Offset: off, Data: p, Err: err})
	d.Deliver(t)
	return err
}

// Read32 reads one dword of a BAR.
func (d *Device) Read32(t *ddi.Thread, bar int, off uint64) (uint32, error) {
	d.wordMu.Lock()
	err := d.noteDown(d.link.Read(bar, off, d.word[:]))
	v := binary.LittleEndian.Uint32(d.word[:])
	d.observe(t, Access{BAR: bar, Offset: off, Data: d.word[:], Err: err})
	d.wordMu.Unlock()
	d.Deliver(t)
	if err != nil {
		return 0, err
	}
	return v, nil
}

// Write32 writes one dword of a BAR.
func (d *Device) Write32(t *ddi.Thread, bar int, off uint64, v uint32) error {
	d.wordMu.Lock()
	binary.LittleEndian.PutUint32(d.word[:], v)
	d.observe(t, Access{Write: true, BAR: bar, Offset: off, Data: d.word[:]})
	err := d.noteDown(d.link.Write(bar, off, d.word[:]))
	d.observeFailure(t, Access{Write: true, BAR: bar, Offset: off, Data: d.word[:], Err: err})
	d.wordMu.Unlock()
	d.Deliver(t)
	return err
}

// ReadConfig reads a dword of configuration space. off is in bytes.
func (d *Device) ReadConfig(t *ddi.Thread, off int) (uint32, error) {
	v, err := d.link.ReadConfig(off)
	d.noteDown(err)
	d.Deliver(t)
	return v, err
}

// WriteConfig writes a dword of configuration space. off is in bytes.
func (d *Device) WriteConfig(t *ddi.Thread, off int, v uint32) error {
	err := d.noteDown(d.link.WriteConfig(off, v))
	d.Deliver(t)
	return err
}

// Wait lets time pass until the device sends an interrupt or Now is at least
// deadline. It may return earlier. If an interrupt can be delivered at once, only
// one tick passes.
func (d *Device) Wait(t *ddi.Thread, deadline uint64) error {
	if d.deliverable(t) {
		deadline = min(deadline, d.clock.Now()+1)
	}
	_, err := d.clock.Wait(deadline)
	d.noteDown(err)
	d.Deliver(t)
	return err
}
