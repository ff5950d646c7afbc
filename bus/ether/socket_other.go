//go:build !linux

package ether

import "time"

// A Socket sends and receives datagrams. There is none on this system.
type Socket struct{ _ struct{} }

// Open fails with ErrSystem.
func Open(name string, etherType, mtu, buffer int) (*Socket, error) { return nil, ErrSystem }

// Interface returns the name of the interface.
func (s *Socket) Interface() string { return "" }

// MAC returns the address of the interface.
func (s *Socket) MAC() MAC { return MAC{} }

// Largest returns the size of the largest datagram, in bytes.
func (s *Socket) Largest() int { return 0 }

// ReadFrom fails with ErrSystem.
func (s *Socket) ReadFrom(p []byte) (int, MAC, error) { return 0, MAC{}, ErrSystem }

// WriteTo fails with ErrSystem.
func (s *Socket) WriteTo(p []byte, to MAC) error { return ErrSystem }

// SetReadDeadline fails with ErrSystem.
func (s *Socket) SetReadDeadline(t time.Time) error { return ErrSystem }

// Claim fails with ErrSystem.
func (s *Socket) Claim(use string) error { return ErrSystem }

// Close does nothing.
func (s *Socket) Close() error { return nil }
