package gdbserver

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/firmware/mcu"
)

// Signals (include/gdb/signals.def of GDB).
const (
	sigINT  = 2
	sigTRAP = 5
	sigXCPU = 24
)

// A breakKind is the set of packets Z that set a breakpoint.
type breakKind uint8

const (
	software breakKind = 1 << iota // Z0
	hardware                       // Z1
)

// why answers ?: the reason of the halt. A processor in reset is no program that runs.
func (s *session) why(string) (string, error) {
	cause, err := s.target.State()
	if err != nil || cause == mcu.None {
		return "W00", err
	}
	return s.stopped(cause), nil
}

// stopped returns the stop reply of a halt.
func (s *session) stopped(c mcu.Cause) string {
	signal, reason := sigTRAP, ""
	switch c {
	case mcu.Requested:
		if s.interrupted {
			signal = sigINT
		}
	case mcu.Hung:
		signal = sigXCPU
	case mcu.Watchpoint:
		if s.watches {
			reason = fmt.Sprintf("watch:%x;", s.watch.addr)
		}
	case mcu.Breakpoint:
		reason = s.breakpoint()
	}
	return fmt.Sprintf("T%02x%sthread:1;", signal, reason)
}

// breakpoint returns the reason of a halt at a breakpoint, if the client understands it.
func (s *session) breakpoint() string {
	pc, err := s.target.PC()
	switch {
	case err != nil:
		return ""
	case s.swbreak && s.breaks[pc]&software != 0:
		return "swbreak:;"
	case s.hwbreak && s.breaks[pc]&hardware != 0:
		return "hwbreak:;"
	}
	return ""
}

// resume answers c, with an address to continue at, or without.
func (s *session) resume(args string) (string, error) { return s.start(args, s.target.Resume) }

// step answers s.
func (s *session) step(args string) (string, error) { return s.start(args, s.target.Step) }

// resumeSignal answers C. The processor has no signals, so this one is ignored.
func (s *session) resumeSignal(args string) (string, error) {
	_, at, _ := strings.Cut(args, ";")
	return s.resume(at)
}

// stepSignal answers S.
func (s *session) stepSignal(args string) (string, error) {
	_, at, _ := strings.Cut(args, ";")
	return s.step(at)
}

// start lets the program run. The reply is that of its halt.
func (s *session) start(at string, do func() error) (string, error) {
	if at != "" {
		pc, err := number(at)
		if err == nil {
			err = s.target.SetPC(pc)
		}
		if err != nil {
			return "", err
		}
	}
	if err := do(); err != nil {
		return "", err
	}
	s.running, s.interrupted = true, false
	return "", nil
}

// vCont does the first action that is for the only thread.
func (s *session) vCont(args string) (string, error) {
	for action := range strings.SplitSeq(args, ";") {
		what, thread, some := strings.Cut(action, ":")
		if some && !ours(thread) || what == "" {
			continue
		}
		switch what[0] {
		case 'c', 'C':
			return s.resume("")
		case 's', 'S':
			return s.step("")
		}
	}
	return "", fmt.Errorf("%w: vCont;%s", errRequest, args)
}

// point parses TYPE,ADDR,KIND. Conditions and commands after it are not announced.
func point(args string) (what byte, addr, size uint32, err error) {
	if len(args) < 2 || args[1] != ',' {
		return 0, 0, 0, fmt.Errorf("%w: a point of type %q", errRequest, args)
	}
	addr, size, err = pair(args[2:])
	return args[0], addr, size, err
}

// insert answers Z: both kinds of breakpoints use the hardware.
func (s *session) insert(args string) (string, error) {
	what, addr, size, err := point(args)
	if err != nil {
		return "", err
	}
	switch what {
	case '0', '1':
		if err := s.target.SetBreakpoint(addr); err != nil {
			return "", err
		}
		s.breaks[addr] |= software << (what - '0')
	case '2':
		if s.watches && s.watch != (span{addr, size}) {
			return "", fmt.Errorf("%w: one of %d bytes is at %#x", errWatch, s.watch.size, s.watch.addr)
		}
		if err := s.target.SetWatchpoint(addr, size); err != nil {
			return "", err
		}
		s.watches, s.watch = true, span{addr, size}
	default:
		return "", nil
	}
	return "OK", nil
}

// remove answers z. A breakpoint that both packets have set remains for the other.
func (s *session) remove(args string) (string, error) {
	what, addr, size, err := point(args)
	if err != nil {
		return "", err
	}
	switch {
	case what == '2' && s.watches && s.watch == span{addr, size}:
		if err := s.target.ClearWatchpoint(); err != nil {
			return "", err
		}
		s.watches = false
	case what == '0' || what == '1':
		left := s.breaks[addr] &^ (software << (what - '0'))
		if left != 0 {
			s.breaks[addr] = left
			break
		}
		if err := s.target.ClearBreakpoint(addr); err != nil {
			return "", err
		}
		delete(s.breaks, addr)
	case what != '2':
		return "", nil
	}
	return "OK", nil
}
