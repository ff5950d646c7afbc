// Package message is the host's side of the messages of the firmware: requests and answers through
// the message area, which is host memory that the firmware sees in window fwabi.WindowMessages.
package message

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
)

// Why a call fails. Errors of Registers and Memory are wrapped too.
var (
	ErrOptions  = errors.New("message: bad options")
	ErrArea     = errors.New("message: no message area")
	ErrPayload  = errors.New("message: payload too long")
	ErrTimeout  = errors.New("message: no answer")
	ErrHung     = errors.New("message: firmware hangs")
	ErrSequence = errors.New("message: answer to another request")
	ErrStatus   = errors.New("message: request refused")
)

// Registers accesses the registers of BAR0, by offset in bytes.
type Registers interface {
	Read(off uint32) (uint32, error)
	Write(off, value uint32) error
}

// A Memory is the message area, by offset in bytes. Words that the other side writes are read anew
// each time, and writes are seen in their order.
type Memory interface {
	ReadHost(off uint32, b []byte) error
	WriteHost(off uint32, b []byte) error
}

// Options limit the wait for an answer. It ends after Polls reads of MCU.STATUS, of which the client makes one between two
// looks at the tail of the answers, and not before Clocks of ID.TIME, unless the time stands still. Polls is at least 1, and
// Clocks at most ClocksMost.
type Options struct {
	Polls  uint64
	Clocks uint32
}

// ClocksMost is the largest limit of clocks. Up to 2^31 clocks may then pass between two reads of the time, whose low half wraps.
const ClocksMost = 1 << 31

// A Notice is a message that no request asked for.
type Notice struct {
	Op      uint32
	Payload []byte
}

// A StatusError is an answer with a status other than OK. It wraps ErrStatus.
type StatusError struct {
	Op     uint32
	Status uint32
}

// Error returns the names of op and status.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%v: %s: %s", ErrStatus, opName(e.Op), statusName(e.Status))
}

// Unwrap returns ErrStatus.
func (e *StatusError) Unwrap() error { return ErrStatus }

func opName(op uint32) string {
	for _, o := range fwabi.Ops {
		if o.Value == op {
			return o.Name
		}
	}
	return fmt.Sprintf("op %d", op)
}

func statusName(status uint32) string { return codeName(fwabi.Statuses, "status", status) }

func codeName(codes []fwabi.Code, kind string, v uint32) string {
	if name, ok := fwabi.Name(codes, v); ok {
		return name
	}
	return fmt.Sprintf("%s %d", kind, v)
}

// Init writes the header of a message area for rings of 2^rings entries, rings at most
// fwabi.RingsMost, and clears the rest of the area. The host calls it before it starts the program.
func Init(m Memory, rings uint32) error {
	if rings > fwabi.RingsMost {
		return fmt.Errorf("%w: rings of 2^%d entries, want at most 2^%d", ErrOptions, rings, fwabi.RingsMost)
	}
	b := make([]byte, fwabi.AreaBytes)
	le := binary.LittleEndian
	le.PutUint32(b[fwabi.AreaMagicWord:], fwabi.AreaMagic)
	le.PutUint32(b[fwabi.AreaVersion:], fwabi.Version)
	le.PutUint32(b[fwabi.AreaRings:], rings)
	if err := m.WriteHost(0, b); err != nil {
		return fmt.Errorf("message: write of the area: %w", err)
	}
	return nil
}

// An Info is the answer of HELLO.
//
//	Version  of the messages
//	Build    first dword of the build id
//	Queues   number of queues
type Info struct {
	Version uint32
	Build   uint32
	Queues  uint32
}

// A Finding is the answer of SELFTEST: what the mail words have after a boot with the same result.
type Finding struct {
	Stage  uint32 // one of fwabi.Stages; LOOP after a test without a fault
	Result uint32 // one of fwabi.Results; READY after a test without a fault
	Detail [3]uint32
}

// StageName returns the name of the stage.
func (f Finding) StageName() string { return codeName(fwabi.Stages, "stage", f.Stage) }

// ResultName returns the name of the result.
func (f Finding) ResultName() string { return codeName(fwabi.Results, "result", f.Result) }

// A Client is a host. It is not safe for concurrent use. After a failure other than ErrStatus,
// ErrPayload and ErrOptions, each call returns the first error until Hello succeeds.
type Client struct {
	r       Registers
	m       Memory
	o       Options
	entries uint32
	tail    uint32 // of the requests
	head    uint32 // of the answers
	next    uint32 // sequence of the next request
	notices []Notice
	err     error
}
