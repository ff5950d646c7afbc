// Package reg describes register blocks. RTL checks, driver dumps, the command
// line, documents and the map hash are all made from this table.
package reg

import "github.com/hilgpu/hilgpu/rtl/abi/caps"

// Access is the effect of a plain read and write.
type Access uint8

// The kinds of access.
const (
	RO  Access = iota // read-only: a write is ignored
	RW                // reads back what was written, within the fields
	W1C               // a 1 clears the bit
	WO                // reads as 0
)

// An Effect is an effect of an access besides transferring the value.
type Effect uint8

// The effects. Latch is an effect of a read; Trigger and Doorbell are effects of
// a write.
const (
	Plain    Effect = iota
	Trigger         // starts something
	Doorbell        // tells an engine that there is work
	Latch           // copies the other half of a 64-bit value, so that both halves are of one clock
)

// Poke tells when a person may write the register by hand.
type Poke uint8

// The poke classes.
const (
	Safe        Poke = iota // at any time
	Idle                    // while nothing runs
	Destructive             // work in flight is lost or memory is written
)

// A Field is a contiguous run of bits of a register.
type Field struct {
	Mask  uint32   // the bits, in place
	Name  string   // hardware name
	Doc   string   // meaning of the value
	Unit  string   // unit of the value, or ""
	Write Effect   // effect of writing it
	Enum  []string // names of the values from 0, or nil
	Needs caps.Set // capabilities without which it is reserved: a write is ignored, a read returns 0
}

// A Reg is one 32-bit register.
type Reg struct {
	Off      uint32 // from the block's base, in bytes, a multiple of 4
	Name     string // hardware name
	Access   Access
	Reset    uint32   // value after reset, unless Config
	Config   bool     // the reset value depends on the configuration
	Needs    caps.Set // capabilities without which the register does not exist
	Volatile bool     // the device may change it on its own
	Read     Effect
	Write    Effect
	Poke     Poke
	Unit     string
	Doc      string
	Fields   []Field // in any order; none means one field of 32 bits
}

// A Block is a range of registers in BAR0.
type Block struct {
	Name  string
	Base  uint32 // in BAR0, in bytes
	Size  uint32 // bytes of the block; those without a register are unmapped
	Doc   string
	Needs caps.Set // capabilities without which the block does not exist
	Regs  []Reg
}
