package rv32

// read returns a value of the memory, or of the bus.
func (p *Processor) read(addr, size uint32) (uint32, bool) {
	if uint64(addr)+uint64(size) > uint64(len(p.Memory)) {
		if p.Bus == nil {
			return 0, false
		}
		return p.Bus.Read(addr, size)
	}
	v := uint32(0)
	for k := range size {
		v |= uint32(p.Memory[addr+k]) << (8 * k)
	}
	return v, true
}

// write writes a value to the memory, or to the bus.
func (p *Processor) write(addr, size, v uint32) bool {
	if uint64(addr)+uint64(size) > uint64(len(p.Memory)) {
		return p.Bus != nil && p.Bus.Write(addr, size, v)
	}
	for k := range size {
		p.Memory[addr+k] = byte(v >> (8 * k))
	}
	return true
}

// load does a load. An address that is no multiple of the size is an exception, also outside
// of the memory.
func (p *Processor) load(i instruction, addr uint32) *trap {
	size := uint32(1) << (i.funct3() & 3)
	unsigned := i.funct3()&4 != 0
	switch {
	case size == 8 || size == 4 && unsigned:
		return &trap{Illegal, 0}
	case addr%size != 0:
		return &trap{MisalignedLoad, addr}
	}
	v, ok := p.read(addr, size)
	if !ok {
		return &trap{LoadFault, addr}
	}
	if !unsigned {
		v = signed(v, uint(8*size))
	}
	p.X[i.rd()] = v
	return nil
}

// store does a store.
func (p *Processor) store(i instruction, addr, v uint32) *trap {
	size := uint32(1) << (i.funct3() & 3)
	switch {
	case i.funct3() > 2:
		return &trap{Illegal, 0}
	case addr%size != 0:
		return &trap{MisalignedStore, addr}
	case !p.write(addr, size, v):
		return &trap{StoreFault, addr}
	}
	return nil
}
