package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A Submission is one of the last ones.
type Submission struct {
	Number, Node, Fence uint64
	Context, Buffer     string
	Kind                string
	State               string   // how far it has come
	Packets             []string // operations of a paging buffer, and packets
	More                int      // packets that are not in Packets

	address, start uint64
	operations     []string
	packets        []packet
}

// A packet of a submission.
type packet struct {
	offset uint64
	data   []byte
}

// A Node has the packets that a node has executed last, or on a board that does not tell them those of its ring.
type Node struct {
	Number   uint64
	Packets  []string
	More     uint64 // packets before them
	Ring     []string
	RingMore uint64 // packets before those

	executed []executed
	ring     []ringPacket
}

// An executed packet.
type executed struct {
	time, address uint64
	header        uint32
	data          []byte // the packet, if the log has it
}

// States of a submission that has not ended.
const (
	queued    = "queued"
	submitted = "in the hardware"
	fetched   = "in the hardware, which has begun to fetch it"
	reported  = "reported"
)

// work has the last submissions and packets.
type work struct {
	submissions []*Submission
	nodes       []*Node
}

func (w *work) add(e *eventlog.Event) {
	if e.Kind == eventlog.Executed {
		w.node(e.Fields[0]).add(executed{e.Time, e.Fields[1], uint32(e.Fields[2]), w.packet(e.Fields[1])})
		return
	}
	if e.Kind == eventlog.Queue {
		w.forget(true)
		w.forget(false)
		w.submissions = append(w.submissions, &Submission{
			Number: e.Fields[0], Node: e.Fields[1], Fence: e.Fields[2], Context: fmt.Sprintf("%#x", e.Fields[3]), Buffer: pkt.FormatAddr(pkt.Host | e.Fields[4]),
			Kind: e.Text(), State: queued, address: e.Fields[4], start: e.Fields[5],
		})
		return
	}
	i := slices.IndexFunc(w.submissions, func(s *Submission) bool { return s.Number == e.Fields[0] })
	if i < 0 {
		return
	}
	s := w.submissions[i]
	switch e.Kind {
	case eventlog.Paging:
		s.operations = append(s.operations, fmt.Sprintf("%s of allocation %#x, %d bytes", e.Text(), e.Fields[1], e.Fields[6]))
	case eventlog.Packet:
		s.packets = append(s.packets, packet{e.Fields[1], slices.Clone(e.Data)})
	case eventlog.Submit:
		s.State = submitted
	case eventlog.Fetched:
		s.State = fetched
	case eventlog.Report:
		s.State = reported
	case eventlog.Retire:
		s.State = "retired"
	case eventlog.Preempted:
		s.State = "preempted"
	case eventlog.Cancelled:
		s.State = "cancelled"
	case eventlog.Reset:
		s.State = "aborted"
	}
}

// gap notes that events are missing: how far a submission has come that had not ended is not known.
func (w *work) gap() { w.note(" before the gap of the log, and unknown after it") }

// stopAll notes that the kernel stops the adapter, with which the work of all submissions ends.
func (w *work) stopAll() { w.note(" until the adapter was stopped") }

// note adds a text to the state of each submission that has not ended, unless it has one.
func (w *work) note(text string) {
	for _, s := range w.submissions {
		switch s.State {
		case queued, submitted, fetched, reported:
			s.State += text
		}
	}
}

// forget makes room for one more submission: of those with packets, or of those without.
func (w *work) forget(packets bool) {
	counted := func(s *Submission) bool { return len(s.packets) > 0 == packets }
	n := 0
	for _, s := range w.submissions {
		if counted(s) {
			n++
		}
	}
	if n >= maxSubmissions {
		oldest := slices.IndexFunc(w.submissions, counted)
		w.submissions = slices.Delete(w.submissions, oldest, oldest+1)
	}
}

// packet returns the packet of one of the last submissions at an address, or nil.
func (w *work) packet(address uint64) []byte {
	for _, s := range slices.Backward(w.submissions) {
		i, ok := slices.BinarySearchFunc(s.packets, address&^pkt.Host-s.address, func(p packet, offset uint64) int { return cmp.Compare(p.offset, offset) })
		if ok && address&pkt.Host != 0 {
			return s.packets[i].data
		}
	}
	return nil
}

// String disassembles the packet, or names its opcode if only its header is known.
func (e executed) String() string {
	if lines := pkt.Disassemble(e.data, e.address); len(lines) > 0 {
		return lines[0]
	}
	return fmt.Sprintf("%#016x %s header %#08x", e.address, opcode(uint8(e.header>>24)), e.header)
}

func (w *work) node(number uint64) *Node {
	if i := slices.IndexFunc(w.nodes, func(n *Node) bool { return n.Number == number }); i >= 0 {
		return w.nodes[i]
	}
	n := &Node{Number: number}
	w.nodes = append(w.nodes, n)
	return n
}

func (n *Node) add(e executed) {
	n.executed = append(n.executed, e)
	if len(n.executed) > maxExecuted {
		n.executed = n.executed[1:]
		n.More++
	}
}

// last returns the last submissions, the newest first, and the nodes by number.
func (w *work) last(of *run) (submissions []*Submission, nodes []Node) {
	for _, s := range slices.Backward(w.submissions) {
		s.decode()
		submissions = append(submissions, s)
	}
	slices.SortFunc(w.nodes, func(a, b *Node) int { return int(a.Number) - int(b.Number) })
	for _, n := range w.nodes {
		for _, e := range slices.Backward(n.executed) {
			n.Packets = append(n.Packets, fmt.Sprintf("%s, until clock %s", e, of.time(e.time)))
		}
		n.Ring = n.lines(of)
		nodes = append(nodes, *n)
	}
	return submissions, nodes
}

// decode disassembles the packets. The log has only the beginning of a long one.
func (s *Submission) decode() {
	s.Packets = s.operations
	for i, p := range s.packets {
		if i == maxPackets {
			s.More = len(s.packets) - i
			break
		}
		lines := pkt.Disassemble(p.data, pkt.Host|(s.address+p.offset))
		if len(lines) > 1 {
			lines = lines[:1]
		}
		s.Packets = append(s.Packets, lines...)
	}
}

// firstLine splits a text after its first line, and bounds the rest.
func firstLine(text string) (first, more string) {
	first, more, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if len(more) > maxText {
		more = more[:maxText] + "\n…"
	}
	return first, more
}
