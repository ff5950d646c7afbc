package gdbserver

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/firmware/mcu"
)

// Numbers of registers: x0 to x31, pc, and a CSR by its own number after regCSR, as GDB has
// them.
const (
	regPC  = mcu.NumberPC
	regCSR = mcu.NumberCSR
)

// isCSR reports whether a register is a CSR that a client sees.
func isCSR(n uint32) bool {
	for _, c := range mcu.CSRs() {
		if regCSR+uint32(c.Number) == n {
			return true
		}
	}
	return false
}

// features answers qXfer:features:read with a part of the target description.
func (s *session) features(args string) (string, error) {
	name, part, _ := strings.Cut(args, ":")
	from, size, err := pair(part)
	switch {
	case err != nil:
		return "", err
	case name != "target.xml":
		return "", fmt.Errorf("%w: %s, want target.xml", errRequest, name)
	}
	all := mcu.Description()
	rest := all[min(uint64(from), uint64(len(all))):]
	if uint64(size) >= uint64(len(rest)) {
		return "l" + rest, nil
	}
	return "m" + rest[:size], nil
}

const help = `reset   restart the processor; it is halted before the instruction at address 0
help    this text
`

// monitor answers qRcmd, a line that a user typed after "monitor".
func (s *session) monitor(args string) (string, error) {
	line, err := decode(args)
	if err != nil {
		return "", err
	}
	text := ""
	switch strings.TrimSpace(string(line)) {
	case "reset":
		if err := s.target.Reset(); err != nil {
			return "", err
		}
		s.interrupted = false
		text = "The processor is halted before the instruction at address 0. The command \"maintenance flush register-cache\" shows it.\n"
	case "help", "":
		text = help
	default:
		text = fmt.Sprintf("There is no command %q. Commands are:\n%s", line, help)
	}
	return hex.EncodeToString([]byte(text)), nil
}
