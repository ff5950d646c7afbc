package regmap

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// Canonical returns the map of all registers and packets as JSON, in one line,
// the same bytes for the same map: blocks by base, registers by offset, fields
// from bit 0 up, packets by opcode. Text for people, the descriptions and the
// poke classes, is not part of it.
func Canonical() []byte { return canonical(blocks(), pkt.Table) }

// Hash returns the value of ID.MAP_HASH: the first four bytes, big-endian, of the
// SHA-256 of Canonical. Each call computes it anew.
func Hash() uint32 { return hash(Canonical()) }

func hash(canonical []byte) uint32 {
	sum := sha256.Sum256(canonical)
	return binary.BigEndian.Uint32(sum[:])
}

// The types below fix names and order of the JSON members.

type jsonMap struct {
	Blocks  []jsonBlock  `json:"blocks"`
	Packets []jsonPacket `json:"packets"`
}

type jsonBlock struct {
	Name  string    `json:"name"`
	Base  uint32    `json:"base"`
	Size  uint32    `json:"size"`
	Needs caps.Set  `json:"needs"`
	Regs  []jsonReg `json:"regs"`
}

type jsonReg struct {
	Off      uint32      `json:"off"`
	Name     string      `json:"name"`
	Access   string      `json:"access"`
	Reset    uint32      `json:"reset"`
	Config   bool        `json:"config"`
	Needs    caps.Set    `json:"needs"`
	Volatile bool        `json:"volatile"`
	Read     string      `json:"read"`
	Write    string      `json:"write"`
	Unit     string      `json:"unit"`
	Fields   []jsonField `json:"fields"`
}

type jsonField struct {
	Mask  uint32   `json:"mask"`
	Name  string   `json:"name"`
	Unit  string   `json:"unit"`
	Write string   `json:"write"`
	Enum  []string `json:"enum"`
	Needs caps.Set `json:"needs"`
}

type jsonPacket struct {
	Op         uint8            `json:"op"`
	Name       string           `json:"name"`
	Body       uint32           `json:"body"`
	Variable   bool             `json:"variable"`
	Privileged bool             `json:"privileged"`
	Needs      caps.Set         `json:"needs"`
	Fields     []jsonPacketPart `json:"fields"`
}

type jsonPacketPart struct {
	Dword int      `json:"dword"`
	Mask  uint64   `json:"mask"`
	Name  string   `json:"name"`
	Kind  string   `json:"kind"`
	Max   uint64   `json:"max"`
	Align uint64   `json:"align"`
	Unit  string   `json:"unit"`
	Enum  []string `json:"enum"`
	Needs caps.Set `json:"needs"`
}

func canonical(bs []reg.Block, ls []pkt.Layout) []byte {
	m := jsonMap{
		Blocks: mapSorted(bs, func(b reg.Block) jsonBlock {
			return jsonBlock{Name: b.Name, Base: b.Base, Size: b.Size, Needs: b.Needs, Regs: mapSorted(b.Regs, jsonRegOf, func(r jsonReg) uint64 { return uint64(r.Off) })}
		}, func(b jsonBlock) uint64 { return uint64(b.Base) }),
		Packets: mapSorted(ls, jsonPacketOf, func(p jsonPacket) uint64 { return uint64(p.Op) }),
	}
	out, err := json.Marshal(m)
	if err != nil {
		panic(err) // plain data cannot fail to marshal
	}
	return out
}

func jsonRegOf(r reg.Reg) jsonReg {
	return jsonReg{
		Off: r.Off, Name: r.Name, Access: r.Access.String(), Reset: r.Reset, Config: r.Config, Needs: r.Needs, Volatile: r.Volatile,
		Read: r.Read.String(), Write: r.Write.String(), Unit: r.Unit,
		Fields: mapSorted(r.Fields, func(f reg.Field) jsonField {
			return jsonField{Mask: f.Mask, Name: f.Name, Unit: f.Unit, Write: f.Write.String(), Enum: f.Enum, Needs: f.Needs}
		}, func(f jsonField) uint64 { return uint64(f.Mask) }),
	}
}

func jsonPacketOf(l pkt.Layout) jsonPacket {
	return jsonPacket{
		Op: l.Op, Name: l.Name, Body: l.Body, Variable: l.Variable, Privileged: l.Privileged, Needs: l.Needs,
		Fields: mapSorted(l.Fields, func(f pkt.Field) jsonPacketPart {
			return jsonPacketPart{Dword: f.Dword, Mask: f.Mask, Name: f.Name, Kind: f.Kind.String(), Max: f.Max, Align: f.Align, Unit: f.Unit, Enum: f.Enum, Needs: f.Needs}
		}, func(p jsonPacketPart) uint64 { return uint64(p.Dword)<<32 | p.Mask&(1<<32-1) }),
	}
}

// mapSorted returns f of each element, by ascending key.
func mapSorted[A, B any](in []A, f func(A) B, key func(B) uint64) []B {
	out := make([]B, 0, len(in))
	for _, a := range in {
		out = append(out, f(a))
	}
	slices.SortStableFunc(out, func(x, y B) int { return cmp.Compare(key(x), key(y)) })
	return out
}
