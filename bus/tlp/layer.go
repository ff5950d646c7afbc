package tlp

import (
	"fmt"

	"github.com/google/gopacket"
)

// LayerType is the gopacket layer type. Its number is in the range that
// gopacket reserves for applications.
var LayerType = gopacket.RegisterLayerType(2448, gopacket.LayerTypeMetadata{
	Name: "TLP", Decoder: gopacket.DecodeFunc(decodeLayer)})

// A Layer is a packet as a gopacket layer: it can be decoded by gopacket and
// serialised. Its payload is the packet's data.
type Layer struct {
	Packet

	contents []byte
}

var (
	_ gopacket.DecodingLayer     = (*Layer)(nil)
	_ gopacket.SerializableLayer = (*Layer)(nil)
)

// LayerType returns the package's LayerType.
func (l *Layer) LayerType() gopacket.LayerType { return LayerType }

// LayerContents returns the header.
func (l *Layer) LayerContents() []byte { return l.contents }

// LayerPayload returns the data of the packet.
func (l *Layer) LayerPayload() []byte { return l.Data }

// CanDecode returns the package's LayerType.
func (l *Layer) CanDecode() gopacket.LayerClass { return LayerType }

// NextLayerType returns gopacket's payload layer, or none if there is no data.
func (l *Layer) NextLayerType() gopacket.LayerType {
	if len(l.Data) == 0 {
		return gopacket.LayerTypeZero
	}
	return gopacket.LayerTypePayload
}

// DecodeFromBytes decodes one packet, as Packet.Decode does.
func (l *Layer) DecodeFromBytes(data []byte, _ gopacket.DecodeFeedback) error {
	l.contents = nil
	if err := l.Decode(data); err != nil {
		return err
	}
	l.contents = data[:l.Kind.HeaderLen()]
	return nil
}

// SerializeTo prepends the packet to b, which must hold its data and, if TD is
// set, the digest. With FixLengths, Len and Data are taken from b. It fails as
// Packet.Append does.
func (l *Layer) SerializeTo(b gopacket.SerializeBuffer, opts gopacket.SerializeOptions) error {
	p := l.Packet
	data := b.Bytes()
	if opts.FixLengths && p.Kind.HasData() {
		p.Len, p.Data = len(data)/4, data
	}
	if string(data) != string(p.Data) {
		return fmt.Errorf("%w: %v of %d bytes of data over a payload of %d",
			ErrMalformed, p.Kind, len(p.Data), len(data))
	}
	buf, err := p.Append(make([]byte, 0, p.Size()))
	if err != nil {
		return err
	}
	h := p.Kind.HeaderLen()
	head, err := b.PrependBytes(h)
	if err != nil {
		return err
	}
	copy(head, buf)
	tail, err := b.AppendBytes(len(buf) - h - len(data))
	if err != nil {
		return err
	}
	copy(tail, buf[h+len(data):])
	b.PushLayer(LayerType)
	return nil
}

func decodeLayer(data []byte, b gopacket.PacketBuilder) error {
	l := &Layer{}
	if err := l.DecodeFromBytes(data, b); err != nil {
		return err
	}
	b.AddLayer(l)
	if next := l.NextLayerType(); next != gopacket.LayerTypeZero {
		return b.NextDecoder(next)
	}
	return nil
}
