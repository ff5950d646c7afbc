package gdbserver

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// A command answers the packets that begin with a name. An answer of no text is a packet that
// is not supported.
//
//	always  the command is allowed while the program runs
type command struct {
	name   string
	always bool
	do     func(s *session, args string) (string, error)
}

// commands returns all commands. Names that begin with the name of another are first.
func commands() []command {
	return []command{
		{"?", false, (*session).why},
		{"g", false, (*session).readAll},
		{"G", false, (*session).writeAll},
		{"p", false, (*session).readOne},
		{"P", false, (*session).writeOne},
		{"m", false, (*session).readMemory},
		{"M", false, (*session).writeHex},
		{"X", false, (*session).writeBinary},
		{"Z", false, (*session).insert},
		{"z", false, (*session).remove},
		{"c", false, (*session).resume},
		{"C", false, (*session).resumeSignal},
		{"s", false, (*session).step},
		{"S", false, (*session).stepSignal},
		{"vCont?", false, func(*session, string) (string, error) { return "vCont;c;C;s;S", nil }},
		{"vCont;", false, (*session).vCont},
		{"D", true, (*session).detach},
		{"k", true, (*session).kill},
		{"H", false, (*session).thread},
		{"T", false, (*session).alive},
		{"qSupported", false, (*session).supported},
		{"QStartNoAckMode", false, (*session).noAck},
		{"qAttached", false, func(*session, string) (string, error) { return "1", nil }},
		{"qC", false, func(*session, string) (string, error) { return "QC1", nil }},
		{"qfThreadInfo", false, func(*session, string) (string, error) { return "m1", nil }},
		{"qsThreadInfo", false, func(*session, string) (string, error) { return "l", nil }},
		{"qXfer:features:read:", false, (*session).features},
		{"qRcmd,", false, (*session).monitor},
	}
}

// find returns the command of a packet, and the length of its name. Without one it returns a
// command that is not supported.
func find(data string) (c command, name int) {
	for _, c := range commands() {
		if strings.HasPrefix(data, c.name) && !(c.name == "qC" && len(data) > 2) {
			return c, len(c.name)
		}
	}
	return command{do: func(*session, string) (string, error) { return "", nil }}, 0
}

// supported answers qSupported, and learns what the client understands.
func (s *session) supported(args string) (string, error) {
	for feature := range strings.SplitSeq(strings.TrimPrefix(args, ":"), ";") {
		switch feature {
		case "swbreak+":
			s.swbreak = true
		case "hwbreak+":
			s.hwbreak = true
		case "error-message+":
			s.text = true
		}
	}
	return fmt.Sprintf("PacketSize=%x;QStartNoAckMode+;qXfer:features:read+;swbreak+;hwbreak+;vContSupported+", maxPacket), nil
}

// noAck ends acknowledgments, after that of this packet.
func (s *session) noAck(string) (string, error) {
	s.quiet = true
	return "OK", nil
}

// thread selects the thread of later packets: there is one.
func (s *session) thread(args string) (string, error) {
	if args == "" || !ours(args[1:]) {
		return "", errThread
	}
	return "OK", nil
}

// alive tells whether a thread exists.
func (s *session) alive(args string) (string, error) {
	if !ours(args) {
		return "", errThread
	}
	return "OK", nil
}

// ours reports whether a thread id is that of the only thread, any, or all.
func ours(id string) bool {
	if id == "-1" {
		return true
	}
	v, err := number(id)
	return err == nil && v <= 1
}

// detach continues the program, and ends the session.
func (s *session) detach(string) (string, error) {
	if err := s.target.Detach(); err != nil {
		return "", err
	}
	s.leave()
	return "OK", nil
}

// kill ends the session and leaves the processor halted, without breakpoints of the client.
func (s *session) kill(string) (string, error) {
	for addr := range s.breaks {
		if err := s.target.ClearBreakpoint(addr); err != nil {
			return "", err
		}
	}
	if s.watches {
		if err := s.target.ClearWatchpoint(); err != nil {
			return "", err
		}
	}
	if s.running {
		if err := s.target.Halt(); err != nil {
			return "", err
		}
	}
	s.leave()
	return "", nil
}

// leave ends the session. The next client may connect before the answer reaches this one.
func (s *session) leave() {
	s.running, s.ended = false, true
	s.free()
}

// number parses a number of 32 bits in hexadecimal.
func number(text string) (uint32, error) {
	v, err := strconv.ParseUint(text, 16, 32)
	if err != nil {
		return 0, fmt.Errorf("%w: %q, want a number of 32 bits", errRequest, text)
	}
	return uint32(v), nil
}

// pair parses two numbers with a comma between them.
func pair(text string) (a, b uint32, err error) {
	left, right, _ := strings.Cut(text, ",")
	if a, err = number(left); err == nil {
		b, err = number(right)
	}
	return a, b, err
}

// decode parses bytes in hexadecimal.
func decode(text string) ([]byte, error) {
	b, err := hex.DecodeString(text)
	if err != nil {
		err = fmt.Errorf("%w: %w", errRequest, err)
	}
	return b, err
}
