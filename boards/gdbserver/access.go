package gdbserver

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// register returns a register by its number in the target description.
func (s *session) register(n uint32) (uint32, error) {
	switch {
	case n < regPC:
		return s.target.Register(int(n))
	case n == regPC:
		return s.target.PC()
	case isCSR(n):
		return s.target.CSR(uint16(n - regCSR))
	}
	return 0, fmt.Errorf("%w: %d", errNumber, n)
}

// setRegister sets a register by its number in the target description.
func (s *session) setRegister(n, v uint32) error {
	switch {
	case n < regPC:
		return s.target.SetRegister(int(n), v)
	case n == regPC:
		return s.target.SetPC(v)
	case isCSR(n):
		return s.target.SetCSR(uint16(n-regCSR), v)
	}
	return fmt.Errorf("%w: %d", errNumber, n)
}

// readAll answers g with x0 to x31 and pc. The client reads CSRs one by one.
func (s *session) readAll(string) (string, error) {
	var b []byte
	for n := range uint32(regPC + 1) {
		v, err := s.register(n)
		if err != nil {
			return "", err
		}
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return hex.EncodeToString(b), nil
}

// writeAll answers G.
func (s *session) writeAll(args string) (string, error) {
	b, err := decode(args)
	if err != nil || len(b) != 4*(regPC+1) {
		return "", fmt.Errorf("%w: want %d registers", errRequest, regPC+1)
	}
	for n := range uint32(regPC + 1) {
		if err := s.setRegister(n, binary.LittleEndian.Uint32(b[4*n:])); err != nil {
			return "", err
		}
	}
	return "OK", nil
}

// readOne answers p.
func (s *session) readOne(args string) (string, error) {
	n, err := number(args)
	if err != nil {
		return "", err
	}
	v, err := s.register(n)
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, v)), nil
}

// writeOne answers P.
func (s *session) writeOne(args string) (string, error) {
	left, right, _ := strings.Cut(args, "=")
	n, err := number(left)
	if err != nil {
		return "", err
	}
	b, err := decode(right)
	if err != nil || len(b) != 4 {
		return "", fmt.Errorf("%w: want 4 bytes", errRequest)
	}
	return "OK", s.setRegister(n, binary.LittleEndian.Uint32(b))
}

// readMemory answers m, with fewer bytes if the others cannot be read.
func (s *session) readMemory(args string) (string, error) {
	addr, size, err := pair(args)
	switch {
	case err != nil:
		return "", err
	case size > maxPacket/2:
		return "", fmt.Errorf("%w: %d bytes, want at most %d", errRequest, size, maxPacket/2)
	}
	p := make([]byte, size)
	n, err := s.target.ReadMemory(addr, p)
	if n > 0 {
		err = nil
	}
	return hex.EncodeToString(p[:n]), err
}

// writeHex answers M.
func (s *session) writeHex(args string) (string, error) {
	head, data, _ := strings.Cut(args, ":")
	p, err := decode(data)
	if err != nil {
		return "", err
	}
	return s.writeMemory(head, p)
}

// writeBinary answers X.
func (s *session) writeBinary(args string) (string, error) {
	head, data, _ := strings.Cut(args, ":")
	return s.writeMemory(head, []byte(data))
}

func (s *session) writeMemory(head string, p []byte) (string, error) {
	addr, size, err := pair(head)
	switch {
	case err != nil:
		return "", err
	case uint64(size) != uint64(len(p)):
		return "", fmt.Errorf("%w: %d bytes, want %d", errRequest, len(p), size)
	case size == 0:
		return "OK", nil
	}
	_, err = s.target.WriteMemory(addr, p)
	return "OK", err
}
