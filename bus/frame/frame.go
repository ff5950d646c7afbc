// Package frame delimits frames on a byte stream that may lose, damage and add
// bytes, and marks console text on the same line.
//
// On the wire, delimiters separate pieces. The first byte of a piece tells its kind:
// 255 begins a piece of text, everything else a frame. Two consecutive pieces share
// the delimiter between them.
//
//	00 | code, bytes ... | code, bytes ... | 00    a frame
//	00 | 255 | n | n bytes of text | 00            text, n from 1 to 255
//
// A frame is in consistent overhead byte stuffing. A code of n, 1 to 253, encodes
// the n-1 bytes that follow it and a zero; the zero of the last group is not part
// of the frame. A code of 254 encodes 253 bytes and no zero (Cheshire and Baker,
// Consistent Overhead Byte Stuffing, IEEE/ACM Transactions on Networking 7(2), 1999,
// §III, with groups shorter by one so that no code is 255). A stuffed frame thus
// contains no zero, and a receiver that lost synchronisation recovers at the next
// delimiter.
//
// Text has any bytes but zero. Its length shows whether bytes of the piece were lost
// or belong to the next one.
package frame

import "bytes"

const (
	delimiter = 0
	textKind  = 255
)

// run is the largest number of bytes that a group carries.
const run = 253

// maxText is the largest number of bytes in a piece of text.
const maxText = 255

// An Encoder encodes one direction of a line. The zero value is ready to use.
type Encoder struct {
	shared bool
}

// Append appends frame, 1 byte or more, to dst in its wire format. The result
// begins with its own delimiter unless it follows another frame.
func (e *Encoder) Append(dst, frame []byte) []byte {
	if !e.shared {
		dst = append(dst, delimiter)
	}
	e.shared = true
	return append(appendStuffed(dst, frame), delimiter)
}

// Break makes the next frame begin with its own delimiter. It must be called
// when other bytes may have been sent since the last frame, such as part of a frame.
func (e *Encoder) Break() { e.shared = false }

// Size returns the largest number of bytes that a frame of n bytes, n at least
// 1, takes on the wire, delimiters included.
func Size(n int) int { return 2 + stuffed(n) }

// stuffed returns the largest size of n bytes after stuffing.
func stuffed(n int) int { return n + (n+run-1)/run }

func appendStuffed(dst, frame []byte) []byte {
	for {
		group := frame[:min(len(frame), run)]
		zero := bytes.IndexByte(group, 0)
		switch {
		case zero >= 0:
			dst = append(dst, byte(zero+1))
			dst = append(dst, group[:zero]...)
			frame = frame[zero+1:]
		case len(group) < run:
			dst = append(dst, byte(len(group)+1))
			return append(dst, group...)
		default:
			dst = append(dst, run+1)
			dst = append(dst, group...)
			if frame = frame[run:]; len(frame) == 0 {
				return dst
			}
		}
	}
}

// appendPlain reverses appendStuffed; ok is false if chunk is not valid or its
// frame is longer than limit bytes.
func appendPlain(dst, chunk []byte, limit int) (_ []byte, ok bool) {
	for len(chunk) > 0 {
		code := int(chunk[0])
		if code > run+1 || len(chunk) < code || len(dst)+code-1 > limit {
			return dst, false
		}
		dst = append(dst, chunk[1:code]...)
		chunk = chunk[code:]
		if code <= run && len(chunk) > 0 {
			if len(dst) == limit {
				return dst, false
			}
			dst = append(dst, 0)
		}
	}
	return dst, true
}
