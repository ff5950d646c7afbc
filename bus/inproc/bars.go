package inproc

import "github.com/hilgpu/hilgpu/bus/bars"

// function holds the BARs of the function. They are read back at the first use
// after a configuration write to one of them, so that they have the values the
// function accepted.
type function struct {
	known bool
	bar   [6]bars.BAR
}

func (l *Link) learnBARs() (err error) {
	if l.bars.known {
		return nil
	}
	b, err := bars.Read(l.readConfig)
	if err == nil {
		l.bars = function{known: true, bar: b}
	}
	return err
}
