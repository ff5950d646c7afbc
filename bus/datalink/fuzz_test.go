package datalink

import (
	"testing"
	"time"
)

// FuzzReceive feeds links, with and without frames of several packets, frames from the input: a byte of flags and length,
// then the frame. With flag 0x80 the frame gets a correct check, so that the
// peer misbehaves instead of the line; with 0x40 it belongs to no session. No
// input causes a panic, memory and output are bounded, and delivered packets
// have legal sizes.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{0x86, 0x80, 0, 1, 2, 3, 4, 0x82, 0, 1, 0x83, 0x10, 0, 1})
	f.Add([]byte{0x87, 0x90, 0, 0xd4, 5, 0xfe, 0x10, 0x10, 0x82, 0x70, 1})
	f.Add(append([]byte{0xc0 + 44, 0x50, 2}, unhex("28 00 0118 0040 003f 0000 0000 000003e8 cafe0001 00000007 00000000 0018 0198 000c 00cc 0000 0000 01 00")...))
	f.Add(append([]byte{0x80 + 36}, unhex("c000 8000 0010 40000001 0000000f fe001014 01020304 000c 00000001 0000050f fe001010")...))
	f.Add(append([]byte{0x80 + 36}, unhex("c001 8000 0010 40000001 0000000f fe001014 01020304 000d 00000001 0000050f fe001010")...))
	f.Fuzz(func(t *testing.T, in []byte) {
		for kind := range 4 {
			role := kind % 2
			c := Config{Credits: finite}
			if kind >= 2 {
				c.Bundle = 576
			}
			s, _ := start(t, c, c)
			l := s.links[role]
			var out Output
			for range 3 {
				_ = l.Send(write, s.now, &out)
			}
			for b := in; len(b) > 0; {
				n := min(int(b[0]&0x3f), len(b)-1)
				frame := b[1 : 1+n]
				if b[0]&0x80 != 0 {
					word := l.epoch
					if b[0]&0x40 != 0 {
						word = helloWord
					}
					frame = seal(word, frame)
				}
				b = b[1+n:]
				out.Reset()
				s.now += time.Millisecond
				l.Receive(frame, s.now, &out)
				l.Tick(s.now, &out)
				checkOutput(t, l, &out)
			}
		}
	})
}

func checkOutput(t *testing.T, l *Link, out *Output) {
	most := l.cfg.Window * max(1, l.bundle/(lengthLen+1)) // packets of one byte
	if out.Frames.Len() > 2*l.cfg.Window || out.Packets.Len() > most {
		t.Fatalf("%d frames and %d packets from one frame", out.Frames.Len(), out.Packets.Len())
	}
	for i := range out.Packets.Len() {
		if n := len(out.Packets.At(i)); n < 1 || n > l.cfg.MaxPacket {
			t.Fatalf("packet of %d bytes", n)
		}
	}
	for i := range out.Frames.Len() {
		if n := len(out.Frames.At(i)); n < MinFrame || n > l.maxFrame() {
			t.Fatalf("frame of %d bytes", n)
		}
	}
	if (l.State() == Down) != (l.Err() != nil) {
		t.Fatalf("state %v with error %v", l.State(), l.Err())
	}
	for i := range l.rx.slots {
		if c := cap(l.rx.slots[i].packet) + cap(l.rx.slots[i].several); c > 2048 {
			t.Fatalf("%d bytes kept for a frame", c)
		}
	}
}
