package bus_test

import (
	"encoding/binary"
	"fmt"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/inproc"
)

// A link accesses a device, here the reference device of the conformance suite on a wire
// in this process. Writes are posted; a read returns when its data has arrived.
func ExampleLink() {
	link, err := inproc.New(bustest.NewDevice(bustest.DeviceOptions{}), bustest.NewHost(4096), inproc.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer link.Close()
	if err := bustest.Enumerate(link); err != nil {
		fmt.Println(err)
		return
	}
	v, err := exchange(link, 0x1234)
	fmt.Printf("%#x, %v\n", v, err)
	// Output: 0x1234, <nil>
}

// exchange writes a register of BAR0 and reads it back.
func exchange(link bus.Link, v uint32) (uint32, error) {
	if err := link.Write(0, bustest.RegScratch, binary.LittleEndian.AppendUint32(nil, v)); err != nil {
		return 0, err
	}
	var p [4]byte
	err := link.Read(0, bustest.RegScratch, p[:])
	return binary.LittleEndian.Uint32(p[:]), err
}
