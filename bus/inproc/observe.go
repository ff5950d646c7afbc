package inproc

import "github.com/hilgpu/hilgpu/rtl/abi/port"

// Stats counts what crossed the link. Bytes are those of data, without headers.
type Stats struct {
	HostReads    uint64 // memory and configuration requests, each at most 128 bytes
	HostWrites   uint64
	DeviceReads  uint64
	DeviceWrites uint64 // messages included
	BytesDown    uint64 // host writes and answers to device reads
	BytesUp      uint64 // device writes and answers to host reads
	Messages     uint64 // writes to the message window
	Refused      uint64 // device requests that bus.Host refused
}

// Dir is the direction of a transaction.
type Dir uint8

// The directions.
const (
	Down Dir = iota // host to device
	Up
)

// A Transaction is one packet as it passes the host's end of the wire.
type Transaction struct {
	Clock  uint64 // when it passed
	Dir    Dir
	Req    port.Request // the request, or the one that Status answers
	Status port.Status  // CplNone: the request itself
	Data   []byte       // of a write or a good answer, valid during the call; 4 bytes for configuration

	// First and Last enable the bytes of the first and the last dword of the
	// request, bit i for byte i; Last is 0 if there is but one dword (PCIe 3.0
	// §2.2.5). The bytes of Data that are not enabled mean nothing.
	First, Last uint8
}

func (l *Link) observe(dir Dir, req port.Request, status port.Status, data []byte) {
	l.observeBytes(dir, req, status, data, 15, 15)
}

// observeBytes is observe of a request that may not enable all its bytes. Last
// is ignored for one dword.
func (l *Link) observeBytes(dir Dir, req port.Request, status port.Status, data []byte, first, last uint8) {
	if l.opt.Observer == nil {
		return
	}
	if req.Len == 1 {
		last = 0
	}
	l.opt.Observer(Transaction{l.now, dir, req, status, data, first, last})
}
