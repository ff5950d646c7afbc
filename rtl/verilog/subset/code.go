// Package subset defines the subset of Go that can be translated to hardware, as
// far as types and syntax decide it. It has the codes of the rules, and the
// predicates shared by the translator and the analyzer.
package subset

// A Code names a rule. docs/rtl.md explains each.
type Code string

// The rules. The number of a code never changes.
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
	CodeDivide   Code = "RTL010" // a division by something other than a constant power of two
	CodeShift    Code = "RTL011" // a shift by a signed value
	CodeCall     Code = "RTL012" // a call of a function without a body that can be translated
	CodeTick     Code = "RTL013" // an instance that is not ticked exactly once
	CodeChild    Code = "RTL014" // an instance copied, or read or changed out of order
	CodeMask     Code = "RTL015" // a write that may exceed the field's width
	CodeTag      Code = "RTL016" // a bad width tag
	CodeReset    Code = "RTL017" // a reset value that is not a constant
	CodeMemory   Code = "RTL018" // a RAM or ROM copied, or a memory lost, restored too late or used as a value
	CodeArray    Code = "RTL019" // an array that is too large, or a bad index
	CodeExpr     Code = "RTL020" // an expression outside the subset
	CodePort     Code = "RTL021" // a signature that cannot be translated to ports
	CodeAliasing Code = "RTL022" // a pointer to a register that may also change in another way
)
