package pins

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/eth"
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
	"github.com/hilgpu/hilgpu/rtl/eth/mac"
	"github.com/hilgpu/hilgpu/rtl/link/datagram"
	"github.com/hilgpu/hilgpu/rtl/link/hard/dlink"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// etherAddress is the address of an etherBoard.
var etherAddress = ip.Params{MAC: [6]byte{0x02, 'b', 'o', 'a', 'r', 'd'}, IP: [4]byte{10, 0, 0, 2}, Port: 4000, EtherType: 0x88b5}

// etherConfig is that of boards/colorlighti5 with smaller windows.
var etherConfig = dlink.Config{
	Window: 8, Datagram: ip.MaxData, TickClocks: 2500, TickMicros: 100,
	Ack: 3, Replay: 100, Limit: 100, Nak: 20, Ping: 1024, Dead: 5000, Expiry: 10_000,
}

// An etherBoard is a device with the hardwired link on Ethernet.
type etherBoard struct {
	eth  *eth.Module
	rx   datagram.Decoder
	tx   datagram.Encoder
	link dlink.Module
	dev  port.Device
	kept bool
}

func newEtherBoard(dev port.Device, c dlink.Config) *etherBoard {
	return &etherBoard{
		eth: eth.New(etherAddress), rx: datagram.NewDecoder(), tx: datagram.NewEncoder(),
		link: dlink.New(c), dev: dev,
	}
}

func (b *etherBoard) Symbol() (valid bool, s mac.Symbol) { return b.eth.Symbol() }

func (b *etherBoard) Tick(rx mac.Byte, ready bool) {
	up := b.link.Status().Up
	arrived, piece := b.eth.Datagram(), b.rx.Piece()
	sent, largest, takes := b.link.Sent(), b.link.Largest(), b.tx.Ready()
	out, taken := b.tx.Byte(), b.eth.Ready()
	req, beat := b.link.Target()
	takesCpl, takesReq, takesBeat := b.link.Takes()
	complete := b.link.Complete()
	cpl, reqReady, dataReady := b.dev.Target()
	upReq, upBeat := b.dev.Initiator()
	keep, release := up && !b.kept, !up && b.kept
	foreign := b.kept && !arrived.Host
	b.kept = up
	b.eth.Tick(rx, ready, eth.Link{Ready: true, Valid: out.Valid, Last: out.Last, Data: out.Data, Keep: keep, Release: release}, 0)
	b.rx.Tick(datagram.Arrived{Valid: arrived.Valid, Last: arrived.Last, Foreign: foreign, Data: arrived.Data})
	b.tx.Tick(sent, largest, taken)
	b.link.Tick(piece, takes, linkport.GPU{Cpl: cpl, Req: upReq, Beat: upBeat}, reqReady, dataReady, 0)
	b.dev.Tick(req, beat, takesCpl, complete, takesReq, takesBeat)
}

// Reset is one of the board's pins.
func (b *etherBoard) Reset() {
	b.eth.Reset()
	b.rx.Reset()
	b.tx.Reset()
	b.link.Reset()
	b.kept = false
}
