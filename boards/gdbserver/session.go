package gdbserver

import (
	"cmp"
	"encoding/hex"
	"errors"
	"io"
	"strings"

	"github.com/hilgpu/hilgpu/firmware/mcu"
)

// A session is the work for one client.
type session struct {
	target   Target
	pause    func()
	await    bool
	free     func()
	to       io.Writer
	messages <-chan message
	last     []byte // the last packet sent
	failure  error  // of the connection

	quiet       bool // packets are not acknowledged
	swbreak     bool // the client understands this stop reason
	hwbreak     bool
	text        bool // the client understands errors in words
	running     bool
	interrupted bool // by the client
	ended       bool

	breaks  map[uint32]breakKind // by address
	watches bool
	watch   span // that the client gave
}

// A span is a range of bytes.
type span struct{ addr, size uint32 }

// serve serves the client until it leaves. Then the program continues, unless the client left
// it halted.
func (s *session) serve() error {
	if err := s.begin(); err != nil {
		return errors.Join(err, s.target.Detach())
	}
	for !s.ended && s.failure == nil {
		if s.running {
			s.poll()
			continue
		}
		m, ok := <-s.messages
		if !ok {
			s.failure = errLost
			break
		}
		s.handle(m)
	}
	if s.ended {
		return s.failure
	}
	return errors.Join(s.failure, s.target.Detach())
}

// begin halts the processor. If that is in reset, begin may wait for a program. It acknowledges
// the packets that arrive meanwhile, so that the client does not send them again, and answers
// them when the program has halted.
func (s *session) begin() error {
	err := s.target.Halt()
	if !errors.Is(err, mcu.ErrReset) {
		return err
	}
	var early []string
	for count := 0; s.await; {
		select {
		case m, ok := <-s.messages:
			if !ok {
				return errLost
			}
			if count++; count > maxEarly {
				return errEarly
			}
			early = s.early(early, m)
			continue
		default:
		}
		cause, err := s.look()
		if err != nil {
			return err
		}
		if cause != mcu.None {
			break
		}
	}
	for _, packet := range early {
		s.request(packet)
	}
	return nil
}

// early acknowledges a message that arrives before the program has started, and returns the
// packets to answer with it. A client that waits too long for an answer asks to repeat it. The
// answer that it waits for still comes only once.
func (s *session) early(packets []string, m message) []string {
	switch m.kind {
	case broken:
		s.write([]byte("-"))
	case request:
		s.write([]byte("+"))
		packets = append(packets, m.data)
	}
	return packets
}

// maxEarly is how many messages a client may send before the program has started.
const maxEarly = 100

// look returns the state of a running program after a pause.
func (s *session) look() (mcu.Cause, error) {
	if s.pause != nil {
		s.pause()
	}
	return s.target.State()
}

// poll looks once for a message of the client and for a halt of the running program.
func (s *session) poll() {
	select {
	case m, ok := <-s.messages:
		if !ok {
			s.failure = cmp.Or(s.failure, errLost)
			return
		}
		s.handle(m)
		return
	default:
	}
	switch cause, err := s.look(); {
	case err != nil:
		s.console(err.Error())
		s.failure = errors.Join(err, s.failure)
	case cause != mcu.None:
		s.running = false
		s.reply(s.stopped(cause))
	}
}

// handle does what a message asks.
func (s *session) handle(m message) {
	switch {
	case m.kind == nack:
		s.write(s.last)
	case m.kind == interrupt && s.running:
		s.interrupted = true
		if err := s.target.Halt(); err != nil {
			s.console(err.Error())
		}
	case m.kind == broken && s.quiet:
		s.reply(s.fault(errRequest))
	case m.kind == broken:
		s.write([]byte("-"))
	case m.kind == request:
		if !s.quiet {
			s.write([]byte("+"))
		}
		s.request(m.data)
	}
}

// request answers a packet.
func (s *session) request(data string) {
	command, answer := find(data)
	if s.running && !command.always {
		s.reply(s.fault(errBusy))
		return
	}
	text, err := command.do(s, data[answer:])
	switch {
	case err != nil:
		s.reply(s.fault(err))
	case s.running || s.ended && text == "":
	default:
		s.reply(text)
	}
}

// fault returns the answer for an error: a number, or the text if the client understands it.
func (s *session) fault(err error) string {
	if s.text {
		return "E." + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return "E01"
}

// console prints a line at a client that waits for the program.
func (s *session) console(line string) { s.reply("O" + hex.EncodeToString([]byte(line+"\n"))) }

// reply sends a packet.
func (s *session) reply(data string) {
	s.last = packet(data)
	s.write(s.last)
}

// write sends bytes. It keeps the first error.
func (s *session) write(b []byte) {
	if s.failure == nil {
		_, s.failure = s.to.Write(b)
	}
}
