// Package subset says which Go has a meaning in hardware, as far as types and
// syntax tell: the codes of the rules, and the questions that the translator and
// the analyzer both ask.
package subset

// A Code names a rule; docs/rtl.md explains each.
type Code string

// The rules. A code keeps its number for good.
const (
	CodeType     Code = "RTL001" // a type that hardware does not have
	CodeInt      Code = "RTL002" // an int that is not a constant
	CodeStmt     Code = "RTL003" // a statement outside the subset
	CodeLoop     Code = "RTL004" // a loop whose bounds are not constants
	CodeRecurse  Code = "RTL005" // recursion
	CodeDefault  Code = "RTL006" // a switch without default
	CodeCase     Code = "RTL007" // a case that is not a constant
	CodeEffect   Code = "RTL008" // a side effect inside an expression
	CodeGlobal   Code = "RTL009" // a package variable
	CodeDivide   Code = "RTL010" // division by what is no constant power of two
	CodeShift    Code = "RTL011" // a shift by a signed value
	CodeCall     Code = "RTL012" // a call of what has no translatable body
	CodeTick     Code = "RTL013" // an instance that is not ticked exactly once
	CodeChild    Code = "RTL014" // an instance copied, or read or changed out of order
	CodeMask     Code = "RTL015" // a write that may exceed the field's width
	CodeTag      Code = "RTL016" // a bad width tag
	CodeReset    Code = "RTL017" // a reset value that is not a constant
	CodeMemory   Code = "RTL018" // a RAM copied, or a memory lost, put back too late or used as a value
	CodeArray    Code = "RTL019" // an array that is too large, or a bad index
	CodeExpr     Code = "RTL020" // an expression outside the subset
	CodePort     Code = "RTL021" // a signature that cannot be ports
	CodeAliasing Code = "RTL022" // a pointer to a register that may also change otherwise
)
