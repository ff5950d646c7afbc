package inproc

import "github.com/hilgpu/hilgpu/bus/bars"

// function is the BARs as the function has them. They are read back when they
// are used first after a configuration write to one of them, so that what the
// function made of the write counts.
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
