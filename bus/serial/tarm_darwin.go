package serial

import (
	"io"
	"runtime"
)

// openTarm fails with ErrOption: tarm does not support this system.
func openTarm(string, int) (io.ReadWriteCloser, error) {
	return nil, checkDriver(Tarm, runtime.GOOS, runtime.GOARCH)
}

// reopenTarm fails as openTarm does.
func reopenTarm(io.Closer, string, int, int) (io.ReadWriteCloser, error) { return openTarm("", 0) }
