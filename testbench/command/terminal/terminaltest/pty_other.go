//go:build !linux

package terminaltest

import (
	"errors"
	"runtime"
)

func listen() (pty, error) { return nil, errors.New("no pseudo-terminals on " + runtime.GOOS) }
