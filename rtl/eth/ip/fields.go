package ip

// An action is what the parser does at a byte besides comparing, storing and summing it.
type action uint8

const (
	actNone      action = iota
	actStation          // refuses the address of a group
	actType             // the first byte of the EtherType
	actSecond           // the second one
	actLenHigh          // the first byte of the length
	actLenLow           // the second one
	actFlags            // refuses a fragment
	actProtocol         // chooses ICMP or UDP
	actAddresses        // the addresses follow: keeps the sum of the other words
	actMessage          // checks the sum of the header, and begins that of the message
	actUDPHigh          // the first byte of the length of UDP, counted twice
	actUDPLow           // the second one
	actChecksum         // is the checksum of UDP, 0 if there is none
	actBody             // this byte and those after it are data
	actDone             // the frame ends here
)

// A field is what the parser does at a byte of a frame.
//
//	want     bits 7..0    value of the byte
//	must     bit 8        refuse another value
//	store    bit 9        store the byte
//	sum      bit 10       add it to the checksum
//	count    bit 11       count it as a byte of the length
//	act      bits 15..12  action
//	invalid  bit 16       a frame that is refused here is invalid, not for others
type field struct {
	want    uint8
	must    bool
	store   bool
	sum     bool
	count   bool
	act     action
	invalid bool
}

const fieldBits = 17

// fieldOf decodes a word of the table.
func fieldOf(w uint32) field {
	return field{
		want: uint8(w), must: w>>8&1 != 0, store: w>>9&1 != 0, sum: w>>10&1 != 0, count: w>>11&1 != 0,
		act: action(w >> 12 & 15), invalid: w>>16&1 != 0,
	}
}

// encode returns the word of the table.
func (f field) encode() uint64 {
	w := uint64(f.want) | uint64(f.act)<<12
	for i, b := range []bool{f.must, f.store, f.sum, f.count} {
		if b {
			w |= 1 << (8 + i)
		}
	}
	if f.invalid {
		w |= 1 << 16
	}
	return w
}

// steps is the number of bytes for which there are fields of each kind, from the source
// address on.
const steps = 64

// is returns fields that must have the given values.
func is(values ...byte) []field {
	var f []field
	for _, v := range values {
		f = append(f, field{want: v, must: true})
	}
	return f
}

// repeat returns n fields.
func repeat(n int, f field) []field {
	var all []field
	for range n {
		all = append(all, f)
	}
	return all
}

// each changes the fields of a list.
func each(list []field, change func(f *field)) []field {
	for i := range list {
		change(&list[i])
	}
	return list
}

// addressed are the fields from the source address to the EtherType.
func addressed() []field {
	first := field{act: actStation, store: true}
	return append(append([]field{first}, repeat(5, field{store: true})...), field{act: actType}, field{act: actSecond})
}

// rawFields are those of a raw frame: its length and the datagram.
func rawFields() []field {
	return append(addressed(),
		field{act: actLenHigh, invalid: true}, field{act: actLenLow},
		field{act: actBody, store: true, count: true})
}

// arpFields are those of a request, RFC 826: Ethernet and IP, then the sender and the target.
func arpFields(p Params) []field {
	f := append(addressed(), is(1>>8, 1, typeIP>>8, typeIP&0xff, 6, 4, 0, 1)...)
	f = append(f, repeat(10, field{store: true})...)
	f = append(f, repeat(6, field{})...)
	f = append(f, is(p.IP[:]...)...)
	f[len(f)-1].act = actDone
	return f
}

// ipFields are those of a header without options, RFC 791 §3.1.
func ipFields(p Params) []field {
	header := is(0x45)
	header[0].invalid = true
	header = append(header, field{}, field{act: actLenHigh, invalid: true}, field{act: actLenLow})
	header = append(header, repeat(2, field{count: true})...)                           // identification
	header = append(header, field{count: true, act: actFlags, invalid: true})           // flags, offset
	header = append(header, field{count: true, must: true, invalid: true})              // offset
	header = append(header, field{count: true})                                         // time to live
	header = append(header, field{count: true, act: actProtocol})                       // protocol
	header = append(header, repeat(2, field{count: true})...)                           // checksum
	header = append(header, field{count: true, store: true, act: actAddresses})         // source
	header = append(header, repeat(3, field{count: true, store: true})...)              // source
	header = append(header, each(is(p.IP[:]...), func(f *field) { f.count = true })...) // destination
	return append(addressed(), each(header, func(f *field) { f.sum = true })...)
}

// echoFields are those of an echo request, RFC 792: type, code, checksum, and data with
// identifier and sequence number.
func echoFields(p Params) []field {
	f := is(echoRequest, 0)
	f[0].act, f[1].count = actMessage, true // the first one is not counted, see lastLeft
	f = append(f, repeat(5, field{store: true, count: true})...)
	f = append(f, field{act: actBody, store: true, count: true})
	return append(ipFields(p), each(f, func(f *field) { f.sum = true })...)
}

// udpFields are those of a datagram, RFC 768: ports, length, checksum, data.
func udpFields(p Params) []field {
	f := []field{{store: true, count: true, act: actMessage}, {store: true, count: true}}
	f = append(f, each(is(uint8(p.Port>>8), uint8(p.Port)), func(f *field) { f.count = true })...)
	f = append(f, field{act: actUDPHigh, invalid: true}, field{act: actUDPLow, count: true, invalid: true})
	f = append(f, repeat(2, field{act: actChecksum, count: true})...)
	f = append(f, field{act: actBody, store: true, count: true})
	return append(ipFields(p), each(f, func(f *field) { f.sum = true })...)
}

// fields returns the table of a board: for each kind the fields of its bytes.
func fields(p Params) []uint64 {
	all := make([]uint64, 4*steps)
	for kind, list := range map[Kind][]field{Raw: rawFields(), ARP: arpFields(p), Echo: echoFields(p), UDP: udpFields(p)} {
		for i, f := range list {
			all[int(kind)*steps+i] = f.encode()
		}
	}
	return all
}
