package export_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// driver is a script that uses the page as a person does: it types values, follows addresses
// and searches. It writes what the page then shows to a script element, as JSON.
const driver = `<script>
"use strict";
const shown = {};
const rows = name => [...document.getElementById(name).querySelectorAll("tr")].map(r => ["bits", "name", "value"].map(c => r.querySelector("." + c).textContent).join(" "));
function type(box, text) {
  box.value = text;
  box.dispatchEvent(new Event("input"));
}
async function drive(cases) {
  for (const at of cases.addresses) {
    if (decodeURIComponent(location.hash) !== at) {
      const changed = new Promise(done => addEventListener("hashchange", done, {once: true}));
      location.hash = at;
      await changed;
    }
    const name = at.slice(1).split("=")[0];
    shown[at] = rows(name).concat(document.getElementById(name).classList.contains("chosen"));
  }
  for (const [name, text] of cases.typed) {
    const box = document.getElementById(name).querySelector("input");
    type(box, text);
    shown[name + " " + text] = rows(name).concat(box.classList.contains("bad"));
  }
  for (const text of cases.searches) {
    type(document.getElementById("search"), text);
    const visible = [...document.querySelectorAll("section.register")].filter(r => r.offsetHeight > 0);
    shown["search " + text] = visible.map(r => r.id).concat(document.getElementById("found").textContent);
  }
  document.body.insertAdjacentHTML("beforeend", "<script type='application/json' id='shown'>" + JSON.stringify(shown) + "<" + "/script>");
}
drive(%s);
</script>`

// browsed opens the page in a browser, at the first address, and returns what it shows in each
// case.
func browsed(t *testing.T, addresses []string, typed [][2]string, searches []string) map[string][]any {
	t.Helper()
	cases, err := json.Marshal(map[string]any{"addresses": addresses, "typed": typed, "searches": searches})
	require.NoError(t, err)
	page := strings.Replace(text(t, "html"), "</body>", fmt.Sprintf(driver, cases)+"</body>", 1)
	file := filepath.Join(written(t, map[string]string{"hilgpu.html": page}), "hilgpu.html")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir="+t.TempDir(), "--virtual-time-budget=10000", "--dump-dom", "file://"+file+addresses[0])
	out, err := c.Output()
	require.NoError(t, err)
	_, found, ok := strings.Cut(string(out), `id="shown">`)
	require.True(t, ok, "the page did not come to the end of the cases")
	found, _, _ = strings.Cut(found, "</script>")
	var shown map[string][]any
	require.NoError(t, json.Unmarshal([]byte(found), &shown))
	return shown
}

// TestHTML: in a browser a value becomes its fields, whether it is typed or in the address. The
// last element of a typed value reports whether it is refused. The search shows registers by name
// or offset.
func TestHTML(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "chromium")
	status := []any{"0 IDLE 0", "1 FAULT 0", "6..4 STATE 6 CLEAR", "9 IN_IB 1", "12..10 RING 0 IDLE", "16..13 WALK 9 GUARD", "19..17 ISSUE 0 IDLE", "22..20 SYNC 0 IDLE"}
	want := map[string][]any{
		"#CP0.STATUS=0x12260":      append(slices.Clone(status), true),
		"#ID.SCRATCH0":             {"31..0 VALUE ", true},
		"CP0.STATUS 0x12260":       append(slices.Clone(status), false),
		"CP0.FAULT_INFO 11":        {"3..0 CAUSE 11 RING", false},
		"CP0.FAULT_INFO 0xf":       {"3..0 CAUSE 15 0xf", false},
		"CP0.FAULT_INFO ":          {"3..0 CAUSE ", false},
		"ID.SCRATCH0 0xffff_ffff":  {"31..0 VALUE 4294967295 0xffffffff", false},
		"ID.SCRATCH0 0X80000000 ":  {"31..0 VALUE 2147483648 0x80000000", false},
		"ID.SCRATCH0 0x100000000":  {"31..0 VALUE ", true},
		"ID.SCRATCH0 12h":          {"31..0 VALUE ", true},
		"search cp0.fault_info":    {"CP0.FAULT_INFO", "1 of %d"},
		"search 0x1000":            {"CP0.CTL", "1 of %d"},
		"search no such register ": {"0 of %d"},
	}
	var addresses, searches []string
	var typed [][2]string
	for _, k := range slices.Sorted(maps.Keys(want)) {
		register, value, _ := strings.Cut(k, " ")
		switch {
		case k[0] == '#':
			addresses = append(addresses, k)
		case register == "search":
			want[k][len(want[k])-1] = fmt.Sprintf(want[k][len(want[k])-1].(string), len(regmap.New().Entries()))
			searches = append(searches, value)
		default:
			typed = append(typed, [2]string{register, value})
		}
	}
	assert.Equal(t, want, browsed(t, addresses, typed, searches))
}

// The page has each register with its offset.
func TestHTMLHasAll(t *testing.T) {
	page := text(t, "html")
	for _, e := range regmap.New().Entries() {
		assert.Contains(t, page, fmt.Sprintf(`id="%s" data-offset="0x%04x"`, e.Name(), e.Off()))
	}
}

// The page loads nothing.
func TestHTMLIsOneFile(t *testing.T) {
	assert.NotRegexp(t, `(?i)\ssrc=|<link|@import|url\(|https?:|fetch\(`, text(t, "html"))
}
