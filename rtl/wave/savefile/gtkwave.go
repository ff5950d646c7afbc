package savefile

import (
	"bytes"
	"fmt"
)

// Flags of a trace of GTKWave, in hexadecimal before the signals that have them.
const (
	gtkwHex     = 0x22 // justified right
	gtkwDecimal = 0x24
	gtkwBits    = 0x28
	gtkwFilter  = 0x2000 // values pass a translate filter file
	gtkwBegin   = 0x800200
	gtkwEnd     = 0x1000200
)

// GTKWave returns a save file, hilgpu.gtkw, and the translate filter files that it names. GTKWave
// looks for these in the directory where it runs. It leaves out signals that a dump lacks.
func GTKWave() []File {
	var w bytes.Buffer
	w.WriteString("[*] Made by hilgpu reg export gtkw, for a file of --wave. Run GTKWave in this folder.\n")
	w.WriteString("[timestart] 0\n[size] 1500 900\n[sst_expanded] 0\n[signals_width] 320\n")
	filters := map[string]int{}
	for i, c := range allCodes() {
		filters[c.name] = i + 1
	}
	for _, s := range sections() {
		fmt.Fprintf(&w, "@%x\n-%s\n", gtkwBegin, s.title)
		for _, x := range s.signals {
			gtkwTrace(&w, x, filters)
		}
		fmt.Fprintf(&w, "@%x\n-%s\n", gtkwEnd, s.title)
	}
	files := []File{{name + ".gtkw", w.Bytes()}}
	for _, c := range allCodes() {
		files = append(files, File{filterName(c), gtkwFilterFile(c)})
	}
	return files
}

// gtkwTrace writes a signal. GTKWave adds the range of bits to the name of a number.
func gtkwTrace(w *bytes.Buffer, x shown, filters map[string]int) {
	flags := [...]int{bits: gtkwBits, hex: gtkwHex, decimal: gtkwDecimal, coded: gtkwFilter | gtkwHex}[x.view]
	fmt.Fprintf(w, "@%x\n", flags)
	if x.codes != nil {
		fmt.Fprintf(w, "^%d %s\n", filters[x.codes.name], filterName(*x.codes))
	}
	w.WriteString(x.Name)
	if x.Names == nil && x.Width > 1 {
		fmt.Fprintf(w, "[%d:0]", x.Width-1)
	}
	w.WriteByte('\n')
}

// filterName returns the name of the file with a translate filter.
func filterName(c codes) string { return name + "-" + c.name + ".txt" }

// gtkwFilterFile returns a translate filter: lines with a value, as the trace shows it, and a
// name. A color before the name is that of the box with the value.
func gtkwFilterFile(c codes) []byte {
	var w bytes.Buffer
	for v, n := range c.names {
		if n == "" {
			continue
		}
		if c.fault && v > 0 {
			n = "?red?" + n
		}
		fmt.Fprintf(&w, "%0*x %s\n", (c.width+3)/4, v, n)
	}
	return w.Bytes()
}
