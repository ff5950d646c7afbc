# The program begins here: the stack is at the end of the memory of 16 KiB. main's result is
# the end of the run.
	.section .text.start, "ax"
	.globl _start
_start:
	li sp, 0x4000
	call main
	lui a1, 0x40000
	sw a0, 4(a1)
1:	j 1b
