package pins

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/eth/mac"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/wave"
)

// A lit is a top with lights.
type lit interface{ LEDs() uint8 }

// recorded returns the registers of a top of a board, which must be one in Go.
func recorded(top any) (t wave.Top, lights lit, err error) {
	t, ok := top.(wave.Top)
	lights, shows := top.(lit)
	if !ok || !shows {
		return nil, nil, fmt.Errorf("pins: a board of type %T has no registers to record", top)
	}
	return t, lights, nil
}

// Recorded is Clocked, and records the pins rx, Line and LEDs and every register in each
// clock of hz a second. It fails with wave.ErrOptions.
func Recorded(top SerialTop, hz uint64, r *wave.Recorder) (Batch, error) {
	t, lights, err := recorded(top)
	if err != nil {
		return nil, err
	}
	p, err := r.AttachTop(t, hz, hdl.Signal{Name: "rx", Width: 1}, hdl.Signal{Name: "Line", Width: 1}, hdl.Signal{Name: "LEDs", Width: 8})
	return &recordedSerial{clocked{top}, lights, p}, err
}

type recordedSerial struct {
	clocked
	lights lit
	wave   *wave.Pins
}

func (r *recordedSerial) Run(rx, tx []bool) error {
	for i, level := range rx {
		r.wave.Clock(hdl.Bit(level), hdl.Bit(r.Line()), uint64(r.lights.LEDs()))
		r.Tick(level)
		tx[i] = r.Line()
	}
	return nil
}

// EtherRecorded is EtherClocked, and records what the PHY gives and gets as Recorded does.
func EtherRecorded(top EtherTop, hz uint64, r *wave.Recorder) (EtherBatch, error) {
	t, lights, err := recorded(top)
	if err != nil {
		return nil, err
	}
	var pins []hdl.Signal
	for _, name := range []string{"rx_Valid", "rx_End", "rx_Error", "Symbol_valid", "Symbol_s_Enable", "Symbol_s_Last"} {
		pins = append(pins, hdl.Signal{Name: name, Width: 1})
	}
	for _, name := range []string{"rx_Data", "Symbol_s_Data", "LEDs"} {
		pins = append(pins, hdl.Signal{Name: name, Width: 8})
	}
	p, err := r.AttachTop(t, hz, pins...)
	return &recordedEther{etherClocked{top}, lights, p}, err
}

type recordedEther struct {
	etherClocked
	lights lit
	wave   *wave.Pins
}

func (r *recordedEther) Run(rx []mac.Byte, tx []mac.Symbol) error {
	for i, b := range rx {
		valid, s := r.Symbol()
		r.wave.Clock(hdl.Bit(b.Valid), hdl.Bit(b.End), hdl.Bit(b.Error), hdl.Bit(valid), hdl.Bit(s.Enable), hdl.Bit(s.Last),
			uint64(b.Data), uint64(s.Data), uint64(r.lights.LEDs()))
		if err := r.etherClocked.Run(rx[i:i+1], tx[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}
