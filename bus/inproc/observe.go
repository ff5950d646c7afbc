package inproc

import "github.com/hilgpu/hilgpu/rtl/abi/port"

// Stats counts the traffic of the link. Bytes are payload, without headers.
type Stats struct {
	HostReads    uint64 // memory and configuration requests, each at most 128 bytes
	HostWrites   uint64
	DeviceReads  uint64
	DeviceWrites uint64 // messages included
	BytesDown    uint64 // host writes and completions of device reads
	BytesUp      uint64 // device writes and completions of host reads
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

// A Transaction is one packet as it passes the host's end of the wire. Last is 0
// for a single dword. Disabled bytes of Data are undefined.
type Transaction struct {
	Clock  uint64 // time at the host's end
	Dir    Dir
	Req    port.Request // the request, or the request that Status completes
	Status port.Status  // CplNone: the request itself
	Data   []byte       // payload, valid during the call; 4 bytes for configuration

	// First and Last enable bytes of the first and last dword (PCIe 3.0 §2.2.5), bit i for byte i.
	First, Last uint8
}

func (l *Link) observe(dir Dir, req port.Request, status port.Status, data []byte) {
	l.observeBytes(dir, req, status, data, 15, 15)
}

// observeBytes is observe for a request with byte enables. It ignores last for
// a single dword.
func (l *Link) observeBytes(dir Dir, req port.Request, status port.Status, data []byte, first, last uint8) {
	if l.opt.Observer == nil {
		return
	}
	if req.Len == 1 {
		last = 0
	}
	l.opt.Observer(Transaction{l.now, dir, req, status, data, first, last})
}
