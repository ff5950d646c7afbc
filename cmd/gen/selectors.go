package main

import "github.com/hilgpu/hilgpu/boards"

// selectorsDoc generates docs/selectors.md: every scheme, option and injected
// fault of a board selector.
func selectorsDoc() ([]byte, error) {
	p := newPage("Board selectors")
	p.text("A selector names the board that `hilgpu` uses: a scheme, for some schemes a place after a colon, and options after a question mark,\n" +
		"separated by `&`, as in `emu?nodes=1&vram=8KiB` or `serial:/dev/ttyUSB1?baud=3000000`. `--board` takes a selector. Its default is the\n" +
		"environment variable `HILGPU_BOARD`, and then `emu`. In a shell, quote a selector with `?` or `&`. `hilgpu help selectors` prints this page.")
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
