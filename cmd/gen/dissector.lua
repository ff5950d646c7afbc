-- The tables above are the register map and the formats of bus/tlp; the code
-- below uses them. Wireshark may dissect a packet more than once and in any
-- order, but the first pass is in the order of the capture. State learned in the
-- first pass is stored by frame number.

local proto = Proto("hilgpu", "hilgpu PCIe TLP")

local kind_names = {}
for byte, k in pairs(KINDS) do kind_names[byte] = k.name end

local f = {
	dir = ProtoField.string("hilgpu.dir", "Direction"),
	kind = ProtoField.uint8("hilgpu.kind", "Kind", base.HEX, kind_names),
	tc = ProtoField.uint8("hilgpu.tc", "Traffic class", base.DEC, nil, 0x70),
	td = ProtoField.uint8("hilgpu.td", "Digest", base.DEC, nil, 0x80),
	ep = ProtoField.uint8("hilgpu.ep", "Poisoned", base.DEC, nil, 0x40),
	attr = ProtoField.uint8("hilgpu.attr", "Attributes", base.HEX, nil, 0x30),
	len = ProtoField.uint16("hilgpu.len", "Length in dwords", base.DEC),
	requester = ProtoField.string("hilgpu.requester", "Requester"),
	completer = ProtoField.string("hilgpu.completer", "Completer"),
	tag = ProtoField.uint16("hilgpu.tag", "Tag", base.HEX),
	last_be = ProtoField.uint8("hilgpu.last_be", "Enables of the last dword", base.HEX, nil, 0xf0),
	first_be = ProtoField.uint8("hilgpu.first_be", "Enables of the first dword", base.HEX, nil, 0x0f),
	addr = ProtoField.uint64("hilgpu.addr", "Address", base.HEX),
	cfg = ProtoField.uint16("hilgpu.cfg", "Configuration offset", base.HEX),
	status = ProtoField.uint8("hilgpu.status", "Status", base.DEC, STATUS, 0xe0),
	bcm = ProtoField.uint8("hilgpu.bcm", "Byte count modified", base.DEC, nil, 0x10),
	count = ProtoField.uint16("hilgpu.byte_count", "Byte count", base.DEC),
	lower = ProtoField.uint8("hilgpu.lower", "Lower address", base.HEX, nil, 0x7f),
	code = ProtoField.uint8("hilgpu.code", "Message code", base.HEX),
	data = ProtoField.bytes("hilgpu.data", "Data"),
	digest = ProtoField.uint32("hilgpu.digest", "Digest", base.HEX),
	bar = ProtoField.uint8("hilgpu.bar", "BAR", base.DEC),
	offset = ProtoField.uint64("hilgpu.offset", "Offset", base.HEX),
	register = ProtoField.string("hilgpu.register", "Register"),
	value = ProtoField.uint32("hilgpu.value", "Value", base.HEX),
	vector = ProtoField.uint16("hilgpu.vector", "MSI-X vector", base.DEC),
	packet = ProtoField.string("hilgpu.packet", "GPU packet"),
	packet_node = ProtoField.uint8("hilgpu.packet.node", "Node", base.DEC),
	packet_from = ProtoField.string("hilgpu.packet.from", "From"),
	packet_addr = ProtoField.uint64("hilgpu.packet.addr", "Host address", base.HEX),
	request = ProtoField.framenum("hilgpu.request", "Answer to", base.NONE, frametype.REQUEST),
}
local reg_fields, bit_fields, all_fields = {}, {}, {}
for _, v in pairs(f) do all_fields[#all_fields + 1] = v end
for off, r in pairs(REGS) do
	reg_fields[off] = ProtoField.uint32("hilgpu." .. r.name, r.name, base.HEX)
	all_fields[#all_fields + 1] = reg_fields[off]
	bit_fields[off] = {}
	for i, b in ipairs(r.fields) do
		bit_fields[off][i] = ProtoField.uint32("hilgpu." .. r.name .. "." .. b.name, b.name, base.DEC, b.enum, b.mask)
		all_fields[#all_fields + 1] = bit_fields[off][i]
	end
end
local packet_fields = {}
for op, p in pairs(PACKETS) do
	packet_fields[op] = {}
	for i, v in ipairs(p.fields) do
		local filter, show = "hilgpu.packet." .. p.name:lower() .. "." .. v.name, v.hex and base.HEX or base.DEC
		if v.wide then
			packet_fields[op][i] = ProtoField.uint64(filter, v.name, show)
		else
			packet_fields[op][i] = ProtoField.uint32(filter, v.name, show, v.enum, v.mask)
		end
		all_fields[#all_fields + 1] = packet_fields[op][i]
	end
end
proto.fields = all_fields

local bad = ProtoExpert.new("hilgpu.malformed", "Malformed TLP", expert.group.MALFORMED, expert.severity.ERROR)
local failed = ProtoExpert.new("hilgpu.failed", "Request failed", expert.group.RESPONSE_CODE, expert.severity.WARN)
proto.experts = { bad, failed }

local bars, pending, vectors, known, nodes, buffers

-- reset_node forgets the state of a node: it begins at dword 0 of its ring.
local function reset_node(i)
	nodes[i] = { lo = 0, hi = 0, log2 = 0, marks = { [0] = true } }
end

function proto.init()
	bars, pending, vectors, known, nodes, buffers = {}, {}, {}, {}, {}, {}
	for i = 0, 5 do bars[i] = {} end
	for i = 0, CP_NODES - 1 do reset_node(i) end
end

local function id_text(v)
	return string.format("%02x:%02x.%d", math.floor(v / 256), math.floor(v / 8) % 32, v % 8)
end

local function is_write(kind) return kind == "MWr32" or kind == "MWr64" or kind == "CfgWr0" end

-- is_wide reports whether a BAR has 64 bits: as read, or else as in the map.
local function is_wide(i)
	if bars[i].flags then return math.floor(bars[i].flags / 2) % 4 == 2 end
	return i == WIDE_BAR
end

local function is_high(i) return i > 0 and not is_high(i - 1) and is_wide(i - 1) end

-- lowest returns the lowest set bit of a number that is a sum of powers of two.
local function lowest(v)
	local bit = 16
	while v % (bit * 2) == 0 do bit = bit * 2 end
	return bit
end

-- window returns the base and size of a BAR, or nil if it decodes nothing.
local function window(i)
	local b = bars[i]
	if is_high(i) or not b.base or (b.flags and b.flags % 2 == 1) then return nil end
	local at = b.base - b.base % 16
	local mask, high = b.size and b.size - b.size % 16, 4294967295
	if i < 5 and is_wide(i) then
		local h = bars[i + 1]
		if not h.base then return nil end
		at = at + h.base * 4294967296
		high = h.size
	end
	if at == 0 or b.size == 0 then return nil end
	if mask and high then return at, (4294967295 - high) * 4294967296 + 4294967296 - mask end
	if i == 0 then return at, BAR0_SIZE end
	return at, lowest(at)
end

-- locate returns the BAR and the offset of an address.
local function locate(addr)
	for i = 0, 5 do
		local at, size = window(i)
		if at and addr >= at and addr - at < size then return i, addr - at end
	end
	return nil, addr
end

-- parse returns the header as a table, or nil and an error.
local function parse(buf)
	local n = buf:len()
	if n < 12 then return nil, "shorter than a header" end
	local k = KINDS[buf(0, 1):uint()]
	if not k then return nil, "reserved type" end
	if n < k.header then return nil, "shorter than its header" end
	local h = { kind = k.name, header = k.header, data = 0, len = buf(2, 2):bitfield(6, 10) }
	h.cpl = k.name == "Cpl" or k.name == "CplD"
	if h.len == 0 and k.name ~= "Cpl" and k.name ~= "Msg" then h.len = 1024 end
	if k.data then h.data = 4 * h.len end
	local digest = buf(2, 1):bitfield(0, 1) * 4
	if k.header + h.data + digest ~= n then
		return nil, string.format("%d bytes, want %d", n, k.header + h.data + digest)
	end
	h.digest = digest > 0
	local high = buf(1, 1):bitfield(0, 1) * 512 + buf(1, 1):bitfield(4, 1) * 256
	h.tag = high + buf(h.cpl and 10 or 6, 1):uint()
	h.requester = buf(h.cpl and 8 or 4, 2):uint()
	if k.name == "CfgRd0" or k.name == "CfgWr0" then
		h.cfg = buf(10, 2):uint()
	elseif k.name == "MRd32" or k.name == "MWr32" then
		h.addr = buf(8, 4):uint()
	elseif k.name == "MRd64" or k.name == "MWr64" then
		h.addr = buf(8, 4):uint() * 4294967296 + buf(12, 4):uint()
	end
	return h
end

-- learn_config tracks the BARs.
local function learn_config(off, v, write)
	local i = (off - BAR0) / 4
	local b = bars[i]
	if not b then return end
	if write then
		b.sizing = v == 4294967295
		b.base = not b.sizing and v or nil
		return
	end
	if b.sizing then b.size = v else b.base = v end
	b.flags = v % 16
end

-- learn_vector tracks the MSI-X table.
local function learn_vector(off, v)
	local i, word = math.floor((off - MSIX_BASE) / MSIX_STRIDE), (off - MSIX_BASE) % MSIX_STRIDE
	if off < MSIX_BASE or i >= MSIX_VECTORS then return end
	vectors[i] = vectors[i] or { lo = 0, hi = 0, data = 0 }
	if word == MSIX_ADDR_LO then vectors[i].lo = v end
	if word == MSIX_ADDR_HI then vectors[i].hi = v end
	if word == MSIX_DATA then vectors[i].data = v end
end

-- A stream is a ring or an indirect buffer in host memory, from which a node
-- fetches dwords. Its marks are the dwords at which a packet is known to begin:
-- the start of a node after a reset, the values of RPTR and WPTR, and the dword
-- after a packet. part is a packet that has begun but not ended; the fetch at
-- dword upto continues it.

-- ring_of returns the ring of a node, or nil if it is unknown or in VRAM.
local function ring_of(i)
	local n = nodes[i]
	if n.hi < 2147483648 or n.log2 < MIN_RING_LOG2 or n.log2 > MAX_RING_LOG2 then return nil end
	return {
		node = i, what = "ring", marks = n.marks, dwords = 2 ^ n.log2 / 4,
		base = (n.hi - 2147483648) * 4294967296 + n.lo,
	}
end

-- learn_node tracks the registers of the nodes. A read reveals the location of a
-- ring as well as a write does.
local function learn_node(off, v, write)
	if off == ID_RESET and write and v % 2 == 1 then
		for i = 0, CP_NODES - 1 do reset_node(i) end
	end
	local i, r = math.floor((off - CP_BASE) / CP_STRIDE), (off - CP_BASE) % CP_STRIDE
	local n = nodes[i]
	if not n then return end
	if r == CP_CTL and write and math.floor(v / CP_CTL_RESET) % 2 == 1 then
		reset_node(i)
	elseif r == CP_RPTR or r == CP_WPTR and write then
		n.marks[v] = true
	elseif r == CP_RING_LO or r == CP_RING_HI or r == CP_RING_SIZE then
		local member = r == CP_RING_LO and "lo" or r == CP_RING_HI and "hi" or "log2"
		if n[member] ~= v or not n.ring then
			n[member] = v
			n.ring = ring_of(i)
		end
	end
end

-- find_stream returns the stream that contains a host address, the newest buffer
-- first, and the dword in it. Other reads fetch data.
local function find_stream(addr)
	local function at(s) return s and addr >= s.base and addr < s.base + 4 * s.dwords end
	for i = #buffers, 1, -1 do
		if at(buffers[i]) then return buffers[i], (addr - buffers[i].base) / 4 end
	end
	for i = 0, CP_NODES - 1 do
		local ring = nodes[i].ring
		if at(ring) then return ring, (addr - ring.base) / 4 end
	end
end

-- number returns the value of a dword given as hexadecimal bytes.
local function number(hex)
	return tonumber(hex:sub(7, 8) .. hex:sub(5, 6) .. hex:sub(3, 4) .. hex:sub(1, 2), 16)
end

-- field returns the value of a field of a packet, by opcode and name. For an
-- address it returns the host address, or nil if it is in VRAM.
local function field(op, words, want)
	for _, v in ipairs(PACKETS[op].fields) do
		if v.name == want and not v.wide then
			return number(words[v.dword + 1]) % (v.mask + 1)
		elseif v.name == want then
			local hi = number(words[v.dword + 2])
			return hi >= 2147483648 and (hi - 2147483648) * 4294967296 + number(words[v.dword + 1]) or nil
		end
	end
end

-- close_buffer drops the buffer at an address, which is read only once.
local function close_buffer(base)
	for i = #buffers, 1, -1 do
		if buffers[i].base == base then table.remove(buffers, i) end
	end
end

-- open_buffer makes the dwords of an INDIRECT a stream of packets. A node may
-- fetch them more than once. Buffers that are never read to their end are dropped
-- eventually.
local function open_buffer(s, words)
	local addr, n = field(OP_INDIRECT, words, "addr"), field(OP_INDIRECT, words, "dwords")
	if not addr or n == 0 then return end
	close_buffer(addr)
	buffers[#buffers + 1] = { node = s.node, what = "indirect buffer", marks = { [0] = true }, dwords = n, base = addr }
	if #buffers > 64 then table.remove(buffers, 1) end
end

-- take adds dwords to a stream, from dword pos on and at an offset of buf, and
-- returns the packets that begin or end in them.
local function take(s, pos, buf, at, n)
	local list, part = {}, s.upto == pos and s.part or nil
	for i = 0, n - 1 do
		local p, word = pos + i, buf(at + 4 * i, 4):bytes():tohex()
		if part then
			s.marks[p] = nil
		elseif s.marks[p] then
			part = { words = {}, addr = s.base + 4 * p, at = at + 4 * i }
		end
		if part then
			part.words[#part.words + 1] = word
			local head = number(part.words[1])
			part.op, part.dwords = math.floor(head / 16777216), 1 + head % 65536
			local unknown = not PACKETS[part.op]
			if unknown or #part.words == part.dwords then
				part.whole = not unknown
				list[#list + 1] = part
				if part.whole then
					s.marks[(p + 1) % s.dwords] = true
					if part.op == OP_INDIRECT and #part.words == 4 then open_buffer(s, part.words) end
				end
				part = nil
			end
		end
	end
	s.part, s.upto = part, (pos + n) % s.dwords
	if part then
		if part.at then list[#list + 1] = { words = { part.words[1] }, addr = part.addr, op = part.op, dwords = part.dwords, at = part.at, came = #part.words } end
		part.at = nil -- it ends in another frame
	end
	if s.what ~= "ring" and pos + n >= s.dwords then close_buffer(s.base) end
	return list
end

-- place finds the target of a packet, and learns from the packet.
local function place(buf, h, up, number)
	local key = string.format("%s%04x%03x", (up ~= h.cpl) and "u" or "d", h.requester, h.tag)
	local w = { off = 0 }
	if h.cpl then
		local req = pending[key]
		if not req then return w end
		w.request, w.kind, w.len = req.number, req.kind, req.len
		w.cfg, w.bar, w.host, w.off = req.cfg, req.bar, req.host, req.off + req.done
		w.stream = req.stream
		if w.stream and h.data > 0 then
			local pos = req.pos + req.done / 4
			local n = math.min(h.data / 4, w.stream.dwords - pos)
			w.packets = take(w.stream, pos, buf, h.header, n)
		end
		req.done = req.done + h.data
		if h.kind == "Cpl" or req.done >= 4 * req.len then pending[key] = nil end
		if w.kind == "CfgRd0" and h.kind == "CplD" then learn_config(w.cfg, buf(h.header, 4):le_uint(), false) end
		if w.bar == 0 then
			for i = 0, h.data - 4, 4 do learn_node(w.off + i, buf(h.header + i, 4):le_uint(), false) end
		end
		return w
	end
	w.kind, w.len, w.cfg = h.kind, h.len, h.cfg
	if h.cfg then
		w.off = h.cfg
	elseif h.addr and up then
		w.host, w.off = true, h.addr
	elseif h.addr then
		w.bar, w.off = locate(h.addr)
	end
	local pos
	if w.host and not is_write(h.kind) then w.stream, pos = find_stream(h.addr) end
	if not is_write(h.kind) or h.cfg then
		pending[key] = { stream = w.stream, pos = pos, number = number, kind = h.kind, len = h.len, cfg = w.cfg, bar = w.bar, host = w.host, off = w.off, done = 0 }
	end
	if h.kind == "CfgWr0" then learn_config(h.cfg, buf(h.header, 4):le_uint(), true) end
	if is_write(h.kind) and w.bar == 0 then
		for i = 0, h.data - 4, 4 do
			local v = buf(h.header + i, 4):le_uint()
			learn_vector(w.off + i, v)
			learn_node(w.off + i, v, true)
		end
	end
	if is_write(h.kind) and w.host and h.len == 1 then
		local v = buf(h.header, 4):le_uint()
		for i, m in pairs(vectors) do
			if m.hi * 4294967296 + m.lo == h.addr and m.data == v then w.vector = i end
		end
	end
	return w
end

-- name returns the name of the location i bytes after that of the packet.
local function name(w, i)
	local off = w.off + i
	if w.cfg then
		return CONFIG[off] and "config." .. CONFIG[off] or string.format("config+0x%x", off)
	elseif w.bar == 0 and REGS[off] then
		return REGS[off].name
	elseif w.bar then
		return string.format("bar%d+0x%x", w.bar, off)
	end
	return string.format("0x%x", off)
end

-- add_header shows the fields of the header.
local function add_header(tree, buf, h, up)
	tree:add(f.dir, buf(0, 0), up and "board->host" or "host->board"):set_generated()
	tree:add(f.kind, buf(0, 1))
	tree:add(f.tc, buf(1, 1))
	tree:add(f.td, buf(2, 1))
	tree:add(f.ep, buf(2, 1))
	tree:add(f.attr, buf(2, 1))
	tree:add(f.len, buf(2, 2), h.len)
	local at = h.cpl and 8 or 4
	tree:add(f.requester, buf(at, 2), id_text(h.requester))
	tree:add(f.tag, buf(h.cpl and 10 or 6, 1), h.tag)
	if h.cpl then
		tree:add(f.completer, buf(4, 2), id_text(buf(4, 2):uint()))
		tree:add(f.status, buf(6, 1))
		tree:add(f.bcm, buf(6, 1))
		local n = buf(6, 2):bitfield(4, 12)
		tree:add(f.count, buf(6, 2), n == 0 and 4096 or n)
		tree:add(f.lower, buf(11, 1))
		return
	end
	if h.cfg or h.addr then
		tree:add(f.last_be, buf(7, 1))
		tree:add(f.first_be, buf(7, 1))
	else
		tree:add(f.code, buf(7, 1))
	end
	if h.cfg then
		tree:add(f.completer, buf(8, 2), id_text(buf(8, 2):uint()))
		tree:add(f.cfg, buf(10, 2))
	elseif h.addr then
		tree:add(f.addr, buf(8, h.header - 8), buf(8, h.header - 8):uint64())
	end
end

-- add_data shows the payload: registers by name, with their fields.
local function add_data(tree, buf, h, w)
	local named = w.cfg or w.bar == 0
	if h.data == 0 then return end
	if not named then
		tree:add(f.data, buf(h.header, h.data))
		return
	end
	for i = 0, h.data - 4, 4 do
		local range, off = buf(h.header + i, 4), w.off + i
		if w.bar == 0 and REGS[off] then
			local sub = tree:add_le(reg_fields[off], range)
			for j in ipairs(REGS[off].fields) do sub:add_le(bit_fields[off][j], range) end
		else
			tree:add_le(f.value, range):prepend_text(name(w, i) .. ": ")
		end
	end
end

-- packet_name returns the name of a GPU packet.
local function packet_name(p)
	return PACKETS[p.op] and PACKETS[p.op].name or string.format("opcode 0x%02x", p.op)
end

-- add_packets shows the GPU packets that begin or end in a completion. It
-- reassembles a packet that began in an earlier one.
local function add_packets(tree, buf, w)
	for _, p in ipairs(w.packets or {}) do
		local range
		if p.at then
			range = buf(p.at, 4 * (p.came or #p.words))
		else
			range = ByteArray.new(table.concat(p.words)):tvb("GPU packet"):range()
		end
		local sub = tree:add(f.packet, range, packet_name(p))
		sub:add(f.packet_node, range(0, 0), w.stream.node):set_generated()
		sub:add(f.packet_from, range(0, 0), w.stream.what):set_generated()
		sub:add(f.packet_addr, range(0, 0), UInt64(p.addr % 4294967296, math.floor(p.addr / 4294967296))):set_generated()
		if p.came then
			sub:append_text(string.format(", %d of %d dwords, the rest follows", p.came, p.dwords))
		elseif p.whole then
			for i, v in ipairs(PACKETS[p.op].fields) do
				local bytes = v.wide and 8 or 4
				if 4 * v.dword + bytes <= range:len() then sub:add_le(packet_fields[p.op][i], range(4 * v.dword, bytes)) end
			end
		end
	end
end

-- packet_list returns the GPU packets of a completion for the packet list.
local function packet_list(w)
	if not w.stream then return "" end
	local names = {}
	for i, p in ipairs(w.packets or {}) do
		if i > 8 then
			names[i] = string.format("%d in all", #w.packets)
			break
		end
		names[i] = packet_name(p) .. (p.came and "..." or "")
	end
	return string.format(", %s of node %d%s%s", w.stream.what, w.stream.node, #names > 0 and ": " or "", table.concat(names, ", "))
end

-- describe returns the text for the packet list.
local function describe(buf, h, w, status)
	local verb = is_write(w.kind or h.kind) and "wr" or "rd"
	if w.vector then return string.format("MSI-X vector %d", w.vector) end
	if not w.kind then return h.kind .. (h.cpl and " without a request" or "") end
	local parts, named = {}, w.cfg or w.bar == 0
	if named and h.data > 0 then
		for i = 0, math.min(h.data, 16) - 4, 4 do
			parts[#parts + 1] = string.format("%s = 0x%x", name(w, i), buf(h.header + i, 4):le_uint())
		end
		if h.data > 16 then parts[#parts + 1] = string.format("%d bytes in all", h.data) end
	elseif named and w.len == 1 then
		parts[1] = name(w, 0)
	else
		parts[1] = string.format("%s, %d bytes", name(w, 0), h.data > 0 and h.data or 4 * w.len) .. packet_list(w)
	end
	local text = (w.host and "DMA " or "") .. verb .. " " .. table.concat(parts, ", ")
	if not h.cpl then return text end
	if status ~= 0 then return "completion of " .. text .. ": " .. (STATUS[status] or "reserved status") end
	return "completion of " .. text
end

function proto.dissector(buf, pinfo, tree)
	pinfo.cols.protocol = "TLP"
	local up = pinfo.p2p_dir == P2P_DIR_RECV
	pinfo.cols.src = up and "board" or "host"
	pinfo.cols.dst = up and "host" or "board"
	local root = tree:add(proto, buf())
	local h, wrong = parse(buf)
	if not h then
		pinfo.cols.info = "malformed: " .. wrong
		root:add_proto_expert_info(bad, wrong)
		return
	end
	if not known[pinfo.number] then known[pinfo.number] = place(buf, h, up, pinfo.number) end
	local w = known[pinfo.number]
	add_header(root, buf, h, up)
	if w.request then root:add(f.request, buf(0, 0), w.request):set_generated() end
	if w.bar then
		root:add(f.bar, buf(0, 0), w.bar):set_generated()
		root:add(f.offset, buf(0, 0), UInt64(w.off % 4294967296, math.floor(w.off / 4294967296))):set_generated()
	end
	if w.cfg or w.bar == 0 then
		local n = math.max(1, h.data > 0 and h.data / 4 or w.len)
		for i = 0, n - 1 do
			if w.cfg or REGS[w.off + 4 * i] then root:add(f.register, buf(0, 0), name(w, 4 * i)):set_generated() end
		end
	end
	if w.vector then root:add(f.vector, buf(0, 0), w.vector):set_generated() end
	add_data(root, buf, h, w)
	add_packets(root, buf, w)
	if h.digest then root:add(f.digest, buf(buf:len() - 4, 4)) end
	local status = h.cpl and buf(6, 1):bitfield(0, 3) or 0
	if status ~= 0 then root:add_proto_expert_info(failed, "status " .. (STATUS[status] or "reserved")) end
	pinfo.cols.info = describe(buf, h, w, status)
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, proto)

-- The frames that carry the packets: those of package bus/datalink, each with its
-- length, several in a datagram of UDP or of raw Ethernet.
local link = Proto("hilgpu_link", "hilgpu data link")
local FORMS = { [0] = "TLP", [1] = "short read", [2] = "short write", [3] = "short completion" }
local TYPES = { [0] = "Ack", [1] = "Nak", [2] = "Credit", [3] = "Ping", [4] = "Pong", [5] = "Hello", [6] = "Welcome", [7] = "Down" }
local HEADER, CHECK = 2, 4
local l = {
	frame = ProtoField.string("hilgpu_link.frame", "Frame"),
	kind = ProtoField.uint16("hilgpu_link.type", "Type", base.DEC, TYPES, 0x7000),
	form = ProtoField.uint16("hilgpu_link.form", "Form of the packet", base.DEC, FORMS, 0x3000),
	seq = ProtoField.uint16("hilgpu_link.seq", "Sequence number", base.DEC, nil, 0x0fff),
	ack = ProtoField.uint16("hilgpu_link.ack", "Next sequence number expected", base.DEC, nil, 0x0fff),
	version = ProtoField.uint16("hilgpu_link.version", "Version", base.DEC, nil, 0x0fff),
	cause = ProtoField.uint16("hilgpu_link.cause", "Cause", base.DEC, nil, 0x0fff),
	body = ProtoField.bytes("hilgpu_link.body", "Body"),
	several = ProtoField.uint16("hilgpu_link.several", "Several packets", base.DEC, nil, 0x8000),
	length = ProtoField.uint16("hilgpu_link.length", "Length of the packet"),
	packet = ProtoField.bytes("hilgpu_link.packet", "TLP"),
	check = ProtoField.uint32("hilgpu_link.check", "CRC-32, exclusive or the session", base.HEX),
}
link.fields = { l.frame, l.kind, l.form, l.seq, l.ack, l.version, l.cause, l.body, l.several, l.length, l.packet, l.check }

-- frames returns the ranges of the frames of a datagram, or nil if they do not fill it.
local function frames(buf)
	local all, at = {}, 0
	while at < buf:len() do
		if buf:len() - at < 2 then return nil end
		local n = buf(at, 2):uint()
		if n < HEADER + CHECK or at + 2 + n > buf:len() then return nil end
		all[#all + 1] = buf(at + 2, n)
		at = at + 2 + n
	end
	if #all == 0 then return nil end
	return all
end

-- add_several adds the packets of a frame that has several, each after its length. It
-- returns their number, or nil if they do not fill the range.
local function add_several(tree, range)
	local n, at = 0, 0
	while at < range:len() do
		if range:len() - at < 2 then return nil end
		local size = range(at, 2):uint()
		if size == 0 or at + 2 + size > range:len() then return nil end
		tree:add(l.length, range(at, 2))
		tree:add(l.packet, range(at + 2, size))
		n, at = n + 1, at + 2 + size
	end
	return n
end

-- add_frame adds a frame to the tree and returns its text.
local function add_frame(tree, range)
	local head, text, from = range(0, 2):uint(), nil, HEADER
	local sub = tree:add(l.frame, range, "")
	if head >= 0x8000 then
		text = string.format("%s %d", FORMS[math.floor(head / 0x1000) % 4], head % 0x1000)
		sub:add(l.form, range(0, 2))
		sub:add(l.seq, range(0, 2))
		if math.floor(head / 0x4000) % 2 == 1 and range:len() >= 2 * HEADER + CHECK then
			sub:add(l.ack, range(2, 2))
			text = string.format("%s, ack %d", text, range(2, 2):uint() % 0x1000)
			from = 2 * HEADER
			if range(2, 1):uint() >= 0x80 and range:len() > from + CHECK then
				sub:add(l.several, range(2, 2))
				local n = math.floor(head / 0x1000) % 4 == 0 and add_several(sub, range(from, range:len() - from - CHECK))
				text = n and string.format("%d TLPs%s", n, text:sub(4)) or "damaged frame, " .. text
				from = range:len() - CHECK
			end
		end
	else
		local typ = math.floor(head / 0x1000)
		text = string.format("%s %d", TYPES[typ], head % 0x1000)
		sub:add(l.kind, range(0, 2))
		sub:add((typ == 5 or typ == 6) and l.version or typ == 7 and l.cause or l.ack, range(0, 2))
	end
	if range:len() > from + CHECK then sub:add(l.body, range(from, range:len() - from - CHECK)) end
	sub:add(l.check, range(range:len() - CHECK, CHECK))
	sub:set_text(text)
	return text
end

local function dissect_frames(all, buf, pinfo, tree)
	pinfo.cols.protocol = "hilgpu"
	local root, texts = tree:add(link, buf()), {}
	for i, range in ipairs(all) do
		texts[i] = add_frame(root, range)
	end
	pinfo.cols.info = table.concat(texts, "; ")
end

-- On Ethernet, the length of the datagram comes first.
function link.dissector(buf, pinfo, tree)
	local all = buf:len() >= 2 and buf(0, 2):uint() <= buf:len() - 2 and frames(buf(2, buf(0, 2):uint()):tvb())
	if not all then
		pinfo.cols.protocol = "hilgpu"
		pinfo.cols.info = "damaged datagram"
		return
	end
	dissect_frames(all, buf, pinfo, tree)
end

DissectorTable.get("ethertype"):add(ETHERTYPE, link)
local function datagram(buf, pinfo, tree)
	local all = frames(buf)
	if not all then return false end
	dissect_frames(all, buf, pinfo, tree)
	return true
end
link:register_heuristic("udp", datagram)

-- Port 4000 is that of the guides, and also that of ICQ, which would take a frame with the number 512.
local port = Proto("hilgpu_udp", "hilgpu link over UDP")
function port.dissector(buf, pinfo, tree)
	return datagram(buf, pinfo, tree) and buf:len() or 0
end
DissectorTable.get("udp.port"):add(4000, port)
