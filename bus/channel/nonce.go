package channel

import (
	"crypto/rand"
	"encoding/binary"
)

// nonces makes the nonces of sessions.
type nonces struct{ state uint32 }

func (n *nonces) seed(seed uint64) error {
	n.state = uint32(seed) ^ uint32(seed>>32)
	if seed != 0 {
		return nil
	}
	var b [4]byte
	_, err := rand.Read(b[:])
	n.state = binary.LittleEndian.Uint32(b[:])
	return err
}

// next returns a nonce. It returns all 2^32 values before it repeats one.
func (n *nonces) next() uint32 {
	n.state += 0x9e3779b9
	return n.state
}
