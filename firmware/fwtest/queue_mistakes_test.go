package fwtest

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var imageFile = flag.String("fwtest.image", "", "image of the firmware for the tests of queues and messages; empty: that of the module")

// image returns the image that the tests of queues and messages load.
func image(t *testing.T) []byte {
	t.Helper()
	if *imageFile == "" {
		return firmware.Default()
	}
	data, err := os.ReadFile(*imageFile)
	require.NoError(t, err)
	return data
}

// A mistake is a change of a line of the firmware, and what the campaign or another test says of it, a regular expression.
type mistake struct {
	name, file, right, wrong, test, says string
}

// The tests. The two campaigns tell of a mistake in different ways.
const (
	inChanging = "TestV25"
	inCampaign = "TestQueueCampaign"
	inTurns    = "TestQueueCampaignOfTurns"
	inYield    = "TestQueueYield"
)

var mistakes = []mistake{
	{"no priority preemption", "schedule.c", "(top > n->priority + 1)", "(top > n->priority + QUEUE_PRIORITIES)", inTurns, "a queue waits for one of a lower priority"},
	{"the turn is not passed on", "schedule.c", "		next = (current + 1) & (QUEUES - 1);\n", "", inTurns, "a queue w"},
	{"the quantum is doubled", "schedule.c", "	q->left = q->quantum;\n", "	q->left = 2 * q->quantum;\n", inTurns, "a queue works longer than its turn"},
	{"an entry is executed twice", "schedule.c", "	q->begun = false;\n	q->longer = 0;\n", "	q->longer = 0;\n", inTurns, "an entry that is not due"},
	{"a doorbell is lost", "queue.c", "	if (!see(number))\n", "	if ((nodes[0].id & 7) != 5 && !see(number))\n", inTurns, "a doorbell was lost"},
	{"the progress of a place is lost", "schedule.c", "	q->progress = node_read(n, CP0_PROGRESS);\n", "", inYield, "rows of an entry"},
	{"a dropped entry is executed", "yield.c", "		q->begun = false;\n", "", inCampaign, "PLACES of node"},
	{"an entry continues without its state", "node.c", "	if (state) {\n", "	if (state && (n->id & 1)) {\n", inYield, "queue 0 fails with the cause 8"},
}

// The campaign finds mistakes of the scheduler with its default number of operations. Few of its yields are inside a packet, so another test
// finds those of places.
func TestQueueMistakes(t *testing.T) {
	tooltest.Long(t)
	findMistakes(t, mistakes)
}

// findMistakes builds the firmware with each mistake, and checks that its test finds it.
func findMistakes(t *testing.T, mistakes []mistake) {
	t.Helper()
	tooltest.Need(t, "riscv64-unknown-elf-gcc")
	tool := filepath.Join(t.TempDir(), "build")
	out, err := exec.Command("go", "build", "-o", tool, "../build").CombinedOutput()
	require.NoError(t, err, string(out))
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			path := m.build(t, tool)
			out, err := exec.Command(os.Args[0], "-test.run", "^"+m.test+"$", "-fwtest.image", path).CombinedOutput()
			var failed *exec.ExitError
			require.ErrorAs(t, err, &failed, "%s does not find it", m.test)
			assert.Regexp(t, m.says, string(out))
		})
	}
}

// build builds the firmware with the mistake, and returns the path of its image.
func (m mistake) build(t *testing.T, tool string) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"src", "target", "gen"} {
		require.NoError(t, os.CopyFS(filepath.Join(root, "firmware", dir), os.DirFS(filepath.Join("..", dir))))
	}
	path := filepath.Join(root, "firmware", "src", m.file)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), m.right))
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), m.right, m.wrong, 1)), 0o666))
	out, err := exec.Command(tool, "-root", root, "-o", filepath.Join(root, "out")).CombinedOutput()
	require.NoError(t, err, string(out))
	return filepath.Join(root, "firmware", "firmware.bin")
}
