package boards

import (
	"cmp"

	"github.com/hilgpu/hilgpu/boards/regs"
)

// WithRegisters opens the board of a selector, calls do with its registers, and
// closes the board. The board reaches no host memory. WithRegisters returns the
// first error: of OpenWith, of regs.Open, of do, or of closing.
func WithRegisters(selector string, opt Options, r regs.Options, do func(*regs.Function) error) error {
	link, _, err := OpenWith(selector, regs.NoMemory{}, opt)
	if err != nil {
		return err
	}
	f, err := regs.Open(link, r)
	if err != nil {
		return cmp.Or(err, link.Close())
	}
	// A link that is down reports its error only once.
	return cmp.Or(do(f), f.Close(), link.Close())
}
