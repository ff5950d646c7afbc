package miniport

import (
	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/firmware/log"
)

// logLines is how many lines of the log of the firmware the text of CollectDbgInfo has.
const logLines = 16

// log lists the last lines of the log of the firmware. It reads a copy of the area, so the lines stay.
func (d *dump) log() {
	q := d.adapter.queues
	if q == nil {
		return
	}
	table, err := log.ParseTable(firmware.LogTable())
	if err == nil {
		err = table.Check(d.adapter.program.boot.Build)
	}
	var lines []log.Line
	var lost uint32
	if err == nil {
		lines, lost, err = log.Read(append(area(nil), q.mem.Bytes...), table)
	}
	if err != nil {
		d.line("miniport: the log of the firmware is not shown: %v", err)
		return
	}
	d.line("miniport: the last lines of the log of the firmware, %d later ones are lost", lost)
	for _, l := range lines[max(0, len(lines)-logLines):] {
		d.line("   at %d: %s", l.Clocks, l.Text)
	}
}
