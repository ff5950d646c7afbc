package datalink

import (
	"bytes"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

// Forms of a packet in a data frame.
const (
	formRaw = iota
	formRead
	formWrite
	formCompletion
)

// headerLen is the size of the headers that have a short form.
const headerLen = 12

// templates are the headers of the common packets: a read and a write of one
// dword by the root complex 00:00.0, and its completion with one dword by
// 01:00.0. The first byte of a short form says which groups of the header
// differ from the template. Those groups follow, and then the rest of the
// packet.
var templates = [...][headerLen]byte{
	formRead:       {0, 0, 0, 1, 0, 0, 0, 0x0f},
	formWrite:      {0x40, 0, 0, 1, 0, 0, 0, 0x0f},
	formCompletion: {0x4a, 0, 0, 1, 1, 0, 0, 4},
}

// groups are the parts of a header that are omitted together: from, to. Bit i
// of the first byte of a short form selects group i. Byte 0 follows from the
// form.
var groups = [8][2]int{{1, 4}, {4, 6}, {6, 7}, {7, 8}, {8, 9}, {9, 10}, {10, 11}, {11, 12}}

// formOf returns the form to send a packet in. A short form is never longer
// than the packet.
func formOf(packet []byte) int {
	if len(packet) >= headerLen {
		for f := formRead; f < len(templates); f++ {
			if packet[0] == templates[f][0] {
				return f
			}
		}
	}
	return formRaw
}

func appendForm(b []byte, form int, packet []byte) []byte {
	if form == formRaw {
		return append(b, packet...)
	}
	at := len(b)
	b = append(b, 0)
	for i, g := range groups {
		if part := packet[g[0]:g[1]]; !bytes.Equal(part, templates[form][g[0]:g[1]]) {
			b[at] |= 1 << i
			b = append(b, part...)
		}
	}
	return append(b, packet[headerLen:]...)
}

// expand appends the packet of a form to dst. It reports false if the form is
// invalid or the packet is larger than limit bytes.
func expand(dst []byte, form int, body []byte, limit int) ([]byte, bool) {
	if form == formRaw {
		return append(dst, body...), len(body) > 0 && len(body) <= limit
	}
	if len(body) == 0 {
		return dst, false
	}
	start := len(dst)
	mask, body := body[0], body[1:]
	dst = append(dst, templates[form][:]...)
	for i, g := range groups {
		if mask>>i&1 == 0 {
			continue
		}
		n := g[1] - g[0]
		if len(body) < n {
			return dst[:start], false
		}
		copy(dst[start+g[0]:], body[:n])
		body = body[n:]
	}
	dst = append(dst, body...)
	return dst, len(dst)-start <= limit
}

func classOf(packet []byte) tlp.Class { return tlp.KindOf(packet[0]).Class() }
