package fwabi

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/arbreg"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/tracereg"
)

// Local describes the registers that only the program has, at their addresses in it. The mail
// words are apart, in Mail.
var Local = reg.Block{
	Name: "LOCAL", Base: mcureg.Local, Size: mcureg.Mail,
	Doc: "the registers of the program",
	Regs: []reg.Reg{
		{Off: mcureg.TimeLo, Name: "TIME_LO", Access: reg.RO, Doc: "time in clocks, low half"},
		{Off: mcureg.TimeHi, Name: "TIME_HI", Access: reg.RO, Doc: "high half"},
		{Off: mcureg.CompareLo, Name: "COMPARE_LO", Access: reg.RW, Doc: "the timer interrupt is there from this time on, low half"},
		{Off: mcureg.CompareHi, Name: "COMPARE_HI", Access: reg.RW, Doc: "high half"},
		{Off: mcureg.LocalDoorbell, Name: "DOORBELL", Access: reg.W1C, Doc: "doorbells that rang"},
		{Off: mcureg.Kick, Name: "KICK", Access: reg.WO, Doc: "a write shows the watchdog that the program runs"},
		{Off: mcureg.Events, Name: "EVENTS", Access: reg.RW, Doc: "which events of ARB.EVENTS interrupt"},
		{Off: mcureg.FreeLo, Name: "FREE_LO", Access: reg.RW, Doc: "base of window 7, low half"},
		{Off: mcureg.FreeHi, Name: "FREE_HI", Access: reg.RW, Doc: "high half"},
	},
}

// uses names the registers of BAR0 that the firmware accesses. A test compares it with the
// source of the firmware.
var uses = []struct {
	block reg.Block
	regs  []string
}{
	{arbreg.Block, []string{"EVENTS", "OWNER"}},
	{cpreg.Block(0), []string{
		"CTL", "FAULT_ADDR_HI", "FAULT_ADDR_LO", "FAULT_BAD_HI", "FAULT_BAD_LO", "FAULT_INFO", "FAULT_OP", "IB_ADDR_HI", "IB_ADDR_LO", "IB_LEFT",
		"PACKETS", "PREEMPT", "PREEMPTED", "PROGRESS", "RING_BASE_HI", "RING_BASE_LO", "RING_SIZE", "RPTR", "STATUS", "WPTR",
	}},
	{idreg.Block, []string{"CAPS", "CAPS2", "MAGIC", "MAP_HASH", "READ_TIMEOUT", "SCRATCH3"}},
	{intcreg.Block, []string{"RAISE"}},
	{mcureg.Block, []string{"INFO", "WINDOW0_BASE_HI", "WINDOW0_BASE_LO", "WINDOW0_SIZE"}},
	{perfreg.Block, []string{"BUSY_HI0", "BUSY_HI1", "BUSY_LO0", "BUSY_LO1", "BYTES_HI0", "BYTES_HI1", "BYTES_LO0", "BYTES_LO1", "CTL", "CYCLES_HI", "CYCLES_LO"}},
	{tracereg.Block(0), []string{"HEADER0"}},
}

// Uses returns the names of the registers of BAR0 that the firmware accesses, as in "ID.MAGIC".
func Uses() []string {
	var all []string
	for _, u := range uses {
		for _, name := range u.regs {
			all = append(all, u.block.Name+"."+name)
		}
	}
	return all
}

// Layout returns the text that the hash of the layouts is made of: the registers that the
// firmware uses, its own registers and mail words, the addresses of its memory, the header of an
// image, the stages and the results, the message area and the messages, and the packets that it writes. Text for people is not part of it.
func Layout() string {
	var w strings.Builder
	fmt.Fprintf(&w, "version %d\n", Version)
	fmt.Fprintf(&w, "map memory=%#x local=%#x bus=%#x through=%#x window=%#x free=%d\n",
		mcureg.Memory, mcureg.Local, mcureg.Bus, uint32(mcureg.Through), mcureg.WindowMax, mcureg.FreeWindow)
	for _, u := range uses {
		for _, name := range u.regs {
			register(&w, u.block, find(u.block, name))
		}
	}
	for _, b := range []reg.Block{Local, Mail} {
		for _, r := range b.Regs {
			register(&w, b, r)
		}
	}
	for _, f := range Header {
		fmt.Fprintf(&w, "header %s %#x %d\n", f.Name, f.Off, f.Bytes)
	}
	for _, c := range Stages {
		fmt.Fprintf(&w, "stage %s %d\n", c.Name, c.Value)
	}
	for _, c := range Results {
		fmt.Fprintf(&w, "result %s %#x\n", c.Name, c.Value)
	}
	messages(&w)
	queues(&w)
	return w.String()
}

// messages writes the layouts of the message area and of the messages.
func messages(w *strings.Builder) {
	fmt.Fprintf(w, "windows nodes=%d messages=%d test=%d\n", WindowNodes, WindowMessages, WindowTest)
	fmt.Fprintf(w, "bells messages=%#x yield=%#x queue=%#x\n", BellMessages, BellYield, BellQueue)
	fmt.Fprintf(w, "area magic=%#x bytes=%#x\n", AreaMagic, AreaBytes)
	for _, p := range Area {
		fmt.Fprintf(w, "area %s %#x %#x %s\n", p.Name, p.Off, p.Bytes, p.Writer)
	}
	fmt.Fprintf(w, "entries message=%d log=%d*%d telemetry=%d*%d fault=%d\n", EntryBytes, LogBytes, LogEntries, TelemetryBytes, TelemetryEntries, FaultBytes)
	fmt.Fprintf(w, "head op=%#x length=%#x status=%#x\n", uint32(HeadOp), uint32(HeadLength), uint32(HeadStatus))
	fmt.Fprintf(w, "line dwords=%d id=%#x level=%#x\n", LineDwords, LineID, LineLevel)
	fmt.Fprintf(w, "sample dwords=%d least=%d\n", SampleDwords, PeriodLeast)
	for _, c := range Statuses {
		fmt.Fprintf(w, "status %s %d\n", c.Name, c.Value)
	}
	for _, o := range Ops {
		fmt.Fprintf(w, "op %s %d %d..%d %s -> %s\n", o.Name, o.Value, o.Least, o.Most(), names(o.Request), names(o.Answer))
	}
}

// queues writes the layouts of the queues and of the fault records.
func queues(w *strings.Builder) {
	fmt.Fprintf(w, "nodes stride=%#x trace=%d*%d\n", cpreg.Stride, tracereg.Entries, tracereg.Entry)
	fmt.Fprintf(w, "entry %s\n", names(QueueEntry))
	fmt.Fprintf(w, "place %s bytes=%d\n", names(QueuePlace), PlaceBytes)
	fmt.Fprintf(w, "record %s ring=%d trace=%d none=%d\n", names(FaultRecord), FaultRing, FaultTrace, NoQueue)
	for _, group := range []struct {
		name  string
		codes []Code
	}{{"packet", Packets}, {"flag", EntryFlags}, {"limit", Limits}, {"queue", QueueStates}, {"cause", QueueCauses}} {
		for _, c := range group.codes {
			fmt.Fprintf(w, "%s %s %d\n", group.name, c.Name, c.Value)
		}
	}
}

// names returns the names of the dwords of a payload.
func names(fields []Field) string {
	var all []string
	for _, f := range fields {
		all = append(all, f.Name)
	}
	return strings.Join(all, ",")
}

// register writes a register, its value after a reset and its fields.
func register(w *strings.Builder, b reg.Block, r reg.Reg) {
	fmt.Fprintf(w, "%s.%s %#x %v", b.Name, r.Name, b.Base+r.Off, r.Access)
	if r.Reset != 0 && !r.Config {
		fmt.Fprintf(w, " reset=%#x", r.Reset)
	}
	for _, f := range r.Fields {
		fmt.Fprintf(w, " %s=%#x", f.Name, f.Mask)
	}
	w.WriteByte('\n')
}

// find returns a register of a block, and panics if there is none.
func find(b reg.Block, name string) reg.Reg {
	for _, r := range b.Regs {
		if r.Name == name {
			return r
		}
	}
	panic("fwabi: no register " + b.Name + "." + name)
}

// LayoutHash returns the first four bytes, big-endian, of the SHA-256 of Layout.
func LayoutHash() uint32 { return hash(Layout()) }

func hash(text string) uint32 {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint32(sum[:])
}
