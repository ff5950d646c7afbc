package property

// The assumptions about the sources of the initiator port.
const (
	headersStay = "a header that is offered and not taken stays until its source is reset; readers only read and writers only write; " +
		"no reader uses the tag of a read that it awaits"
	sequence = "no push when the queue is full, no pop when it is empty"
)

// arbiters returns the modules that decide about headers, and the pending resets.
func arbiters() []string { return []string{"noc_initiator", "noc_reads", "noc_writes", "reset"} }

// List returns all properties.
func List() []Property {
	return append(blocks(), initiator()...)
}

// blocks returns the properties of single blocks.
func blocks() []Property {
	return []Property{
		{
			Name: "fifo.count", Module: "hdl_fifo", Assumes: sequence, Source: "hdl.FIFO",
			Text: "The number of values in a queue is the pushes less the pops, and at most its depth.",
		},
		{
			Name: "fifo.order", Module: "hdl_fifo", Assumes: sequence, Source: "hdl.FIFO",
			Connect: map[string]string{"slot": "slots[check_where]"},
			Text:    "Each value leaves a queue unchanged, after those pushed before it and before those pushed after it.",
		},
		{
			Name: "dma.queue", Module: "dma", Keep: []string{"hdl_fifo"}, Source: "hdl.FIFO, Faults",
			Text: "The DMA engine never pushes a descriptor into a full queue, and never takes one from an empty queue.",
		},
		{
			Name: "fence.after", Module: "fence", Source: "fence.Module, Order",
			Assumes: "a write is refused between the clock in which its header is taken and the clock after header and beat were taken",
			Text:    "The timeline moves, and the event and the result are given, only after header and beat of the write were taken, and never if it was refused.",
		},
		{
			Name: "fence.once", Module: "fence", Source: "fence.Module, Out",
			Text: "Each request of a node has at most one header, one beat and one result, and one event if it raises one.",
		},
		{
			Name: "fence.line", Module: "fence", Source: "fence.Module; docs/packets.md, FENCE",
			Assumes: "the id of a request stays, and the host does not write FENCE or TIMELINE during it",
			Text:    "Only a fence moves the timeline, forward by less than 2^31, to the value that it wrote to memory.",
		},
		{
			Name: "intc.owed", Module: "intc", Source: "intc.Module, Order",
			Assumes: "no register is accessed in the clock in which a reset ends",
			Text: "Each event is due until exactly one message of its vector starts, also a masked one. " +
				"Only an acknowledge of a held event or a reset withdraws it, a refused message makes it due again, and no message starts without one.",
		},
		{
			Name: "intc.soon", Module: "intc", Source: "intc.Module, Timing",
			Text: "While an event is due that is not masked, also one that was due before its unmask, a message is offered after at most 9 clocks, " +
				"without coalescing and without register accesses.",
		},
		{
			Name: "watchdog.hang", Module: "watchdog", Source: "watchdog.Module; wdogreg.Block",
			Text: "A hang is reported in exactly the clock in which a busy node has made no progress for LIMIT clocks, once, and never if LIMIT is 0.",
		},
		{
			Name: "reset.kept", Module: "reset", Source: "reset.Module, Order",
			Text: "A reset that is requested is pending until a reset ends, also one that is requested in the clock in which another one ends.",
		},
	}
}

// initiator returns the properties of the initiator port.
func initiator() []Property {
	return []Property{
		{
			Name: "port.grant", Module: "gpu", Keep: arbiters(), Assumes: headersStay, Source: "noc.Initiator, Timing",
			Text: "The header at the initiator port is that of one source that offers it, and only that source sees it taken, when the port takes it or it is refused.",
		},
		{
			Name: "port.hold", Module: "gpu", Keep: arbiters(), Assumes: headersStay, Source: "noc.Initiator, Faults",
			Text: "A header that is offered to the initiator port stays, with its tag, until it is taken.",
		},
		{
			Name: "port.closed", Module: "gpu", Keep: arbiters(), Assumes: headersStay, Source: "docs/design.md#resets; noc.Initiator, Faults",
			Text: "While a reset is pending, or bus mastering is off, no header appears at the initiator port, except one that was offered before.",
		},
		{
			Name: "port.fair", Module: "gpu", Keep: arbiters(), Assumes: "the granted source is one that may be granted, by port.grant", Source: "noc.Initiator, Order",
			Text: "While a source may be granted, at most 6 headers of others are taken at the initiator port before its own.",
		},
		{
			Name: "tag.once", Module: "gpu", Keep: arbiters(), Inside: map[string]string{"flying": "initiator.flying"},
			Assumes: headersStay, Source: "noc.Initiator, Faults; docs/design.md#resets",
			Text: "No read is sent with the tag of a read that the host has not answered. The initiator awaits a completion only for a read sent since the readers' last reset.",
		},
	}
}
