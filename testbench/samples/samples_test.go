package samples

import (
	"flag"
	"image"
	"image/png"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the stored images")

// Float arithmetic may be fused on some machines, so a channel may be one off.
func TestStoredAsDrawn(t *testing.T) {
	if *update {
		for i, n := range Names {
			f, err := os.Create(n + ".png")
			require.NoError(t, err)
			require.NoError(t, png.Encode(f, Draw(i)))
			require.NoError(t, f.Close())
		}
		t.Log("written; run again to compare")
		return
	}
	imgs, err := Load()
	require.NoError(t, err)
	require.Len(t, imgs, len(Names))
	for i, img := range imgs {
		want := Draw(i)
		require.Equal(t, image.Rect(0, 0, Side, Side), img.Bounds())
		require.LessOrEqual(t, 4*Side*Side, 8<<10)
		for y := range Side {
			for x := range Side {
				r, g, b, a := img.At(x, y).RGBA()
				wr, wg, wb, wa := want.At(x, y).RGBA()
				for c, d := range []int{int(r>>8) - int(wr>>8), int(g>>8) - int(wg>>8), int(b>>8) - int(wb>>8), int(a>>8) - int(wa>>8)} {
					if d < -1 || d > 1 {
						t.Fatalf("%s: pixel %d,%d channel %d is %d off", Names[i], x, y, c, d)
					}
				}
			}
		}
	}
}
