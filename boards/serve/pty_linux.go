package serve

import "github.com/hilgpu/hilgpu/bus/serial"

// ListenPty creates a pseudo-terminal and makes path a symbolic link to it.
func ListenPty(path string) (*Pty, error) {
	p, err := serial.ListenPty(path)
	if err != nil {
		return nil, err
	}
	return &Pty{stream: p}, nil
}
