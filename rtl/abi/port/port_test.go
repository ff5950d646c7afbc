package port

import "testing"

func TestSince(t *testing.T) {
	s := uint64(0)
	for _, tt := range []struct {
		now   uint64
		there bool
		want  uint64
	}{
		{0, false, 0}, {1, true, 2}, {2, true, 2}, {5, true, 2}, {6, false, 0}, {7, true, 8},
	} {
		if s = Since(s, tt.now, tt.there); s != tt.want {
			t.Errorf("clock %d: %d, want %d", tt.now, s, tt.want)
		}
	}
}
