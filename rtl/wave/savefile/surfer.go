package savefile

import (
	"bytes"
	"fmt"
	"strings"
)

// Surfer returns a command file, hilgpu.sucl, and the mapping files that it names. Surfer looks for
// these in .surfer/mappings of the directory where it runs. It leaves out signals that a dump
// lacks. The formats are set at the end and by the numbers of the rows, which stay the same for a
// GPU without node 1.
func Surfer() []File {
	var rows, formats bytes.Buffer
	row := 0
	for _, s := range sections() {
		fmt.Fprintf(&rows, "divider_add %s\n", s.title)
		row++
		for _, x := range s.signals {
			fmt.Fprintf(&rows, "variable_add %s\n", x.Name)
			if format := surferFormat(x); format != "" {
				fmt.Fprintf(&formats, "item_unfocus\nitem_focus %s_%s\nitem_set_format %s\n", surferRow(row), x.Name, format)
			}
			row++
		}
	}
	var w bytes.Buffer
	w.WriteString("# Made by hilgpu reg export surfer, for a file of --wave. Run Surfer in this folder.\n")
	w.Write(rows.Bytes())
	w.Write(formats.Bytes())
	w.WriteString("item_unfocus\nzoom_fit\n")
	files := []File{{name + ".sucl", w.Bytes()}}
	for _, c := range allCodes() {
		files = append(files, File{".surfer/mappings/" + mappingName(c) + ".txt", mapping(c)})
	}
	return files
}

// surferFormat returns the format of a signal, "" for the usual one of Surfer.
func surferFormat(x shown) string {
	switch x.view {
	case decimal:
		return "Unsigned"
	case coded:
		return mappingName(*x.codes)
	}
	return ""
}

// surferRow returns the number of a row as Surfer writes it: hexadecimal, with the letters a to p
// as digits.
func surferRow(n int) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' {
			return r - 'a' + 'k'
		}
		return r - '0' + 'a'
	}, fmt.Sprintf("%x", n))
}

// mappingName returns the name of a mapping, which Surfer lists among the formats.
func mappingName(c codes) string { return name + "_" + c.name }

// mapping returns a mapping file: lines with a value and a name. A kind in brackets selects the
// color.
func mapping(c codes) []byte {
	var w bytes.Buffer
	fmt.Fprintf(&w, "Name = %s\nBits = %d\n", mappingName(c), c.width)
	for v, n := range c.names {
		kind := ""
		if c.fault && v > 0 {
			kind = "[error]"
		}
		if n != "" {
			fmt.Fprintf(&w, "%d%s %s\n", v, kind, n)
		}
	}
	return w.Bytes()
}
