package serve

import "github.com/hilgpu/hilgpu/bus/serial"

// ListenPty makes a pseudo-terminal and path a symbolic link to it.
func ListenPty(path string) (*Pty, error) {
	p, err := serial.ListenPty(path)
	if err != nil {
		return nil, err
	}
	return &Pty{stream: p}, nil
}
