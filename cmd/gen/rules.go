package main

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
)

// rulesDoc generates docs/rules.md: every rule of package verifier.
func rulesDoc() ([]byte, error) {
	p := newPage("Rules of the driver interfaces")
	p.text("Package `runtime/verifier` sits between the Direct3D runtime and the user-mode display driver, and its package `kmcheck` between\n" +
		"the graphics kernel and the display miniport driver. They check both sides against these rules. The kernel checks a rule with a\n" +
		"bugcheck code itself. A violation stops the system with the rule, the DDI functions of the thread and the last calls, and\n" +
		"`hilgpu` exits with 7. If a mistake shows only in a later call and the checker knows the call that made it, the message names\n" +
		"that one as the call to blame, with its number among the last calls, or as missing.\n" +
		"The checks are on in every test and in `hilgpu run`; `--verify=false` turns them off, `--waive RULE` only counts violations of a rule.\n" +
		"`hilgpu rules explain RULE` prints the entry of a rule. Sources are pages of the Windows driver documentation, by title.")
	rows := [][]string{}
	for _, r := range rule.All() {
		rows = append(rows, []string{"[`" + r.Name + "`](#" + r.Name + ")", string(r.Fault) + yes(r.Warning, ", warning"), r.Title})
	}
	p.table([]string{"rule", "at fault", "requirement"}, rows)
	for _, r := range rule.All() {
		p.heading(2, r.Name)
		p.text("%s", r.Title)
		kind := "stops"
		if r.Warning {
			kind = "is counted and printed at the end"
		}
		rows := [][]string{
			{"at fault", string(r.Fault)}, {"source", r.Source}, {"caught", r.Catches}, {"violation", kind}, {"example", "`" + r.Example + "`"},
		}
		if r.Code != 0 {
			rows = append(rows, []string{"bugcheck", fmt.Sprintf("%#x, parameter 1 is %#x", r.Code, r.P1)})
		}
		p.table([]string{"", ""}, rows)
	}
	return p.Bytes(), nil
}
