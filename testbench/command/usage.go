package command

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// wantArgs makes a command refuse a wrong number of arguments with its usage.
func wantArgs(c *cobra.Command) {
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		err := check(c, args)
		var told exit.UsageError
		if err == nil || errors.As(err, &told) {
			return err
		}
		usage := strings.TrimSuffix(c.UseLine(), " [flags]")
		switch {
		case usage == c.CommandPath():
			return fmt.Errorf("%q takes no arguments, got %q", usage, args[0])
		case len(args) == 1:
			return fmt.Errorf("want %q, got 1 argument", usage)
		}
		return fmt.Errorf("want %q, got %d arguments", usage, len(args))
	}
}

// flagError restates the error of a flag that cannot be parsed.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	var syntax *pflag.InvalidSyntaxError
	switch {
	case errors.As(err, &unknown):
		name := "--" + unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			name = "-" + unknown.GetSpecifiedName()[:1]
		}
		return fmt.Errorf("unknown flag %s for %q, see %s --help", name, c.CommandPath(), c.CommandPath())
	case errors.As(err, &missing):
		what, _ := pflag.UnquoteUsage(missing.GetFlag())
		return fmt.Errorf("--%s needs a value: %s", missing.GetFlag().Name, what)
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		return fmt.Errorf("%w: --%s %q, want %s", exit.ErrInput, f.Name, invalid.GetValue(), valueOf(f, errors.Unwrap(invalid)))
	case errors.As(err, &syntax):
		return fmt.Errorf("bad flag %q for %q, see %s --help", syntax.GetSpecifiedFlag(), c.CommandPath(), c.CommandPath())
	}
	return err
}

// valueOf says what the value of a flag must be, where cause is the error of another one.
func valueOf(f *pflag.Flag, cause error) string {
	least, most := "", ""
	switch f.Value.Type() {
	case "bool":
		return "true or false"
	case "duration":
		return "a duration as in 30s"
	case "uint64":
		least, most = "0", "18446744073709551615"
	case "uint32":
		least, most = "0", "4294967295"
	case "int":
		least, most = strconv.Itoa(-1<<(strconv.IntSize-1)), strconv.Itoa(1<<(strconv.IntSize-1)-1)
	case "float64":
		return "a number"
	default:
		what, _ := pflag.UnquoteUsage(f)
		return fmt.Sprintf("%s: %v", what, cause)
	}
	if errors.Is(cause, strconv.ErrRange) || strings.Contains(cause.Error(), "out of range") {
		return fmt.Sprintf("a number from %s to %s", least, most)
	}
	if least == "0" {
		return "a number from 0 on"
	}
	return "a number"
}

// The errors of flags that do not go together, which cobra does not let a command restate.
var (
	exclusive = regexp.MustCompile(`^if any flags in the group .* none of the others can be; \[(.*)\] were all set$`)
	required  = regexp.MustCompile(`^required flag\(s\) (.*) not set$`)
)

// together restates the error of flags that do not go together, or returns err.
func together(err error) error {
	if m := exclusive.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("--%s exclude each other", strings.Join(strings.Fields(m[1]), " and --"))
	}
	if m := required.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("--%s must be given", strings.ReplaceAll(strings.Trim(m[1], `"`), `", "`, " and --"))
	}
	return err
}
