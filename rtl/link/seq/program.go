package seq

import (
	_ "embed"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/linkreg"
	"github.com/hilgpu/hilgpu/rtl/link/asm"
)

//go:embed link.seq
var source string

// MaxPacket is the size of the largest packet, in bytes: a header of 16 and a payload
// of 128.
const MaxPacket = 144

// Window is the number of frames in flight in each direction.
const Window = 2

// Options of a program.
//
//	MapHash  hash of the GPU's register map
//	Replay   ticks after which frames are sent again, 1 to 255
type Options struct {
	MapHash uint32
	Replay  uint8
}

// Program assembles the program of the sequencer. Its unit of time, a tick, is a
// millisecond.
func Program(o Options) (*asm.Program, error) {
	const ackMicros = 500
	head := ""
	for _, c := range []struct {
		name  string
		value int
	}{
		{"map0", int(o.MapHash >> 24)}, {"map1", int(o.MapHash >> 16 & 0xff)}, {"map2", int(o.MapHash >> 8 & 0xff)}, {"map3", int(o.MapHash & 0xff)},
		{"max_packet", MaxPacket}, {"ack_us1", ackMicros >> 8}, {"ack_us0", ackMicros & 0xff},
		{"replay_ticks", int(o.Replay)}, {"replay_limit", 64}, {"nak_ticks", 3}, {"dead_ticks", 2},
		{"ev_session", 1 << linkreg.Sessions}, {"ev_received", 1 << linkreg.Received}, {"ev_refused", 1 << linkreg.Refused},
		{"ev_repeated", 1 << linkreg.Repeated}, {"ev_nak", 1 << linkreg.Naks}, {"ev_packet", 1 << linkreg.Packets},
	} {
		head += fmt.Sprintf("%s = %d\n", c.name, c.value)
	}
	return asm.Assemble(head + source)
}
