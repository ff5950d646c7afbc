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

// Rates returns the rates that the program knows, in bits per second and ascending order. Each of
// the first four is twice the one before, and the line begins at the first one.
func Rates() []int {
	return []int{115_200, 230_400, 460_800, 921_600, 1_000_000, 1_500_000, 2_000_000}
}

// Options of a program.
//
//	MapHash  hash of the GPU's register map
//	Replay   ticks after which frames are sent again at a fast rate, 1 to 255
//	Slow     0, or 7 for a line at Rates: at the first one, the times of frames count each 8th
//	         tick, at the second one each 4th, at the third one each 2nd
type Options struct {
	MapHash uint32
	Replay  uint8
	Slow    uint8
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
		{"fall_back", 100}, {"keep_for", 250}, {"linger", 5}, // of 4 ticks: 400 ms, 1 s and 20 ms
		{"slow_first", int(o.Slow)},
	} {
		head += fmt.Sprintf("%s = %d\n", c.name, c.value)
	}
	for i, r := range Rates() {
		head += fmt.Sprintf("rate%d_1 = %d\nrate%d_2 = %d\n", i, r>>16, i, r>>8&0xff)
	}
	return asm.Assemble(head + source)
}
