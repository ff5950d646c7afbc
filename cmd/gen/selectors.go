package main

import "github.com/hilgpu/hilgpu/boards"

// selectorsDoc returns docs/selectors.md: every scheme, option and fault of a
// board selector.
func selectorsDoc() ([]byte, error) {
	p := newPage("Board selectors")
	p.text("A selector says what `hilgpu` works on: a scheme, for some a place after a colon, and options after a question mark with `&`\n" +
		"between them, as in `emu?nodes=1&vram=8KiB` or `serial:/dev/ttyUSB1?baud=3000000`. `--board` takes one; where it is not given, the variable\n" +
		"`HILGPU_BOARD` of the environment does, and then `emu`. In a shell a selector with `?` or `&` is quoted. `hilgpu help selectors` prints what is here.")
	for _, s := range boards.Manual() {
		p.heading(2, s.Title)
		rows := [][]string{}
		for _, e := range s.Entries {
			rows = append(rows, []string{"`" + e.Name + "`", e.Doc})
		}
		p.table([]string{"", ""}, rows)
	}
	return p.Bytes(), nil
}
