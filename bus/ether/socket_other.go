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

// Frames sends and receives whole frames. There is none on this system.
type Frames struct{ _ struct{} }

// OpenFrames fails with ErrSystem.
func OpenFrames(name string, station MAC) (*Frames, error) { return nil, ErrSystem }

// Read fails with ErrSystem.
func (f *Frames) Read(p []byte) (int, error) { return 0, ErrSystem }

// Write fails with ErrSystem.
func (f *Frames) Write(p []byte) (int, error) { return 0, ErrSystem }

// SetReadDeadline fails with ErrSystem.
func (f *Frames) SetReadDeadline(t time.Time) error { return ErrSystem }

// Close does nothing.
func (f *Frames) Close() error { return nil }
