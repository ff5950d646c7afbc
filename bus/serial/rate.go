package serial

import (
	"fmt"

	bugst "go.bug.st/serial"
)

func checkRate(baud int) error {
	if baud < 50 || baud > 20_000_000 {
		return fmt.Errorf("%w: %d baud, want 50 to 20000000", ErrRate, baud)
	}
	return nil
}

func mode(baud int) *bugst.Mode { return &bugst.Mode{BaudRate: baud, DataBits: 8} }
