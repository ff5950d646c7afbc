package command

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/why"
)

func newWhy(a *App) *cobra.Command {
	board := 0
	c := &cobra.Command{
		Use:   "why FILE QUESTION",
		Short: "Say why something happened in a run, or did not",
		Long: `Why reads a log that --record has written and prints a chain of events, from the call of the
application to the interrupt, each with its number in the log, its time in clocks and its
thread. If something did not happen, it names the first link that is missing, and the reason as
far as the log tells. The questions:

  fault             why the run stopped
  fence [NODE:]N    what became of a fence
  call N            what a call of the API led to; calls are numbered from 1
  ddi N             which call of the driver interfaces a broken rule means by #N
  cycle N           what was going on at a clock of the log; a cycle of the GPU may be several
  address A         what was at a GPU address, and what wrote and read it;
                    also as VRAM+0x40, APERTURE+0x40 or HOST+0x40, as answers have it
  pixel X,Y         where a pixel of the last presented frame comes from`,
		Example: `  hilgpu run compose --record run.log
  hilgpu why run.log pixel 10,20
  hilgpu why run.log fence 1:2
  hilgpu why run.log fault`,
		Args:              cobra.RangeArgs(2, 3),
		ValidArgsFunction: completeWhy,
		RunE: func(_ *cobra.Command, args []string) error {
			q, function, err := questionOf(args[1:])
			if err != nil {
				return err
			}
			return answer(a, args[0], board, function, q)
		},
	}
	c.Flags().IntVar(&board, "opened", 0, "ask about the board that was opened as the `Nth`, from 1; 0: the last one, and for fault the first that stopped")
	a.AddJSON(c.Flags())
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if below := belowZero(err); below != nil {
			return below
		}
		return flagError(c, err)
	})
	return c
}

// questions are the first words of questions.
var questions = []string{"fault", "fence", "call", "ddi", "cycle", "address", "pixel"}

// completeWhy completes the question; files are completed by the shell.
func completeWhy(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return nil, cobra.ShellCompDirectiveDefault
	case 1:
		return questions, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// A question asks a run.
type question func(r *why.Run) (*why.Answer, error)

// questionOf returns the question of the words of a command line, and the number of the call of the driver interfaces that it asks for, or 0.
func questionOf(words []string) (q question, function uint64, err error) {
	what, arg := words[0], strings.Join(words[1:], "")
	if what != "ddi" {
		q, err = plainQuestion(what, arg)
		return q, 0, err
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(arg, "#"), 0, 64)
	if err != nil || n == 0 {
		return nil, 0, fmt.Errorf("%w: %s %q, want a number from 1", exit.ErrInput, what, arg)
	}
	return func(r *why.Run) (*why.Answer, error) { return r.Function(n) }, n, nil
}

// plainQuestion returns the question of a word and its argument.
func plainQuestion(what, arg string) (question, error) {
	bad := func(want string) (question, error) {
		return nil, fmt.Errorf("%w: %s %q, want %s", exit.ErrInput, what, arg, want)
	}
	n, numberErr := strconv.ParseUint(arg, 0, 64)
	switch what {
	case "fault":
		if arg != "" {
			return bad("nothing after fault")
		}
		return func(r *why.Run) (*why.Answer, error) { return r.Fault(), nil }, nil
	case "fence":
		node, fence, ok := fenceOf(arg)
		if !ok {
			return bad("a fence of 32 bits, or NODE:FENCE")
		}
		return func(r *why.Run) (*why.Answer, error) { return r.Fence(node, fence) }, nil
	case "pixel":
		var x, y uint16
		if m, err := fmt.Sscanf(arg+"\n", "%d,%d\n", &x, &y); err != nil || m != 2 {
			return bad("X,Y")
		}
		return func(r *why.Run) (*why.Answer, error) { return r.Pixel(x, y) }, nil
	case "address":
		addr, err := addressOf(arg)
		if err != nil {
			return bad("a number, or VRAM+0x40, APERTURE+0x40 or HOST+0x40")
		}
		return func(r *why.Run) (*why.Answer, error) { return r.Address(addr) }, nil
	case "call", "cycle":
		if numberErr != nil {
			return bad("a number")
		}
		return func(r *why.Run) (*why.Answer, error) {
			if what == "call" {
				return r.Call(n)
			}
			return r.Cycle(n)
		}, nil
	}
	return nil, fmt.Errorf("%w: question %q, want one of %s", exit.ErrInput, what, strings.Join(questions, ", "))
}

// addressOf returns a GPU address, as a number or as pkt.FormatAddr shows it.
func addressOf(text string) (uint64, error) {
	base, size := uint64(0), uint64(math.MaxUint64)
	for _, s := range []struct {
		name       string
		base, size uint64
	}{{"VRAM+", 0, gartreg.Start}, {"APERTURE+", gartreg.Start, gartreg.Start}, {"HOST+", pkt.Host, pkt.Host}} {
		if rest, ok := strings.CutPrefix(text, s.name); ok {
			text, base, size = rest, s.base, s.size
		}
	}
	n, err := strconv.ParseUint(text, 0, 64)
	if err == nil && n >= size && size != math.MaxUint64 {
		err = strconv.ErrRange
	}
	return base + n, err
}

// negative finds a number below 0, which the flags take for one of theirs.
var negative = regexp.MustCompile(`in (-\d\S*)`)

// belowZero is the error of a question with a number below 0, or nil.
func belowZero(err error) error {
	if m := negative.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("%w: %s is out of range: calls count from 1, clocks, addresses and pixels from 0", exit.ErrInput, m[1])
	}
	return nil
}

// fenceOf returns the node, or -1, and the number of a fence.
func fenceOf(text string) (node int, fence uint32, ok bool) {
	node = -1
	if before, after, both := strings.Cut(text, ":"); both {
		n, err := strconv.ParseUint(before, 10, 6)
		if err != nil {
			return 0, 0, false
		}
		node, text = int(n), after
	}
	f, err := strconv.ParseUint(text, 0, 32)
	return node, uint32(f), err == nil
}

// answer answers a question about a log, or about the board of it that was opened as the nth. function is the call of the driver interfaces
// that it asks for, or 0.
func answer(a *App, path string, n int, function uint64, q question) error {
	return readLog(path, func(l *eventlog.Reader) error {
		run, err := why.Reading(l, function)
		if err != nil {
			return err
		}
		of := run
		if n != 0 {
			if of, err = run.Board(n); err != nil {
				return err
			}
		}
		found, err := q(of)
		if err != nil {
			return run.Explain(err, of)
		}
		run.Annotate(found, of)
		if a.Document(found) {
			return nil
		}
		_, err = fmt.Fprint(a.Out, found.Text())
		return err
	})
}
