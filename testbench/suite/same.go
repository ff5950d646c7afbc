package suite

import "fmt"

// same checks that two byte strings are equal, and reports the first difference. The
// message is the requirement, as a format with arguments.
func same(t TB, want, got []byte, format string, args ...any) {
	t.Helper()
	near(t, want, got, 0, format, args...)
}

// near is same for bytes that may differ by delta.
func near(t TB, want, got []byte, delta int, format string, args ...any) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("Error:      \tgot %d bytes, want %d\nMessages:   \t%s", len(got), len(want), fmt.Sprintf(format, args...))
		return
	}
	first, n := -1, 0
	for i := range want {
		if d := int(want[i]) - int(got[i]); d > delta || -d > delta {
			if n++; first < 0 {
				first = i
			}
		}
	}
	if n == 0 {
		return
	}
	most := ""
	if delta > 0 {
		most = fmt.Sprintf(", with a tolerance of %d", delta)
	}
	t.Errorf("Error:      \t%d of %d bytes differ, the first at %d: got %s, want %s%s\nMessages:   \t%s",
		n, len(want), first, from(got, first), from(want, first), most, fmt.Sprintf(format, args...))
}

// from shows some bytes from an index on.
func from(p []byte, at int) string {
	const most = 8
	if len(p)-at > most {
		return fmt.Sprintf("% x …", p[at:at+most])
	}
	return fmt.Sprintf("% x", p[at:])
}
