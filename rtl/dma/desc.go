package dma

// Op is the operation of a descriptor. None means that there is none.
type Op uint8

// The operations.
const (
	None Op = iota
	Copy
	Fill
)

// A Desc is one contiguous move. The sender has checked it: both ranges are
// mapped and Len is not 0. Any byte alignment is allowed.
//
//	Op     Copy or Fill
//	After  it is cancelled if the descriptor of this node before it has failed or was
//	       cancelled; only in an engine with a queue
//	Len    bytes, 1 to 2^LengthBits-1
//	Src    GPU address; of a Fill the value, eight bytes from Dst on, repeated
//	Dst    GPU address
type Desc struct {
	Op    Op
	After bool
	Len   uint32
	Src   uint64
	Dst   uint64
}
