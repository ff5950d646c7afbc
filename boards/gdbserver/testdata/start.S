# The program begins here: the stack is at the end of the memory of 16 KiB. Interrupts of
# the timer are taken in trap.
	.section .text.start, "ax"
	.globl _start
_start:
	.cfi_startproc
	.cfi_undefined ra
	li sp, 0x4000
	la t0, trap
	csrw mtvec, t0
	li t0, 0x80
	csrw mie, t0
	csrwi mstatus, 8
	call main
1:	j 1b
	.cfi_endproc

# trap saves the registers that a C function may change, and calls handle with mcause. Its
# frame is that of a signal: the address that it returns to is in mepc, whose DWARF number is
# 4096 + 0x341, and may be any instruction.
	.globl trap
	.balign 4
trap:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_return_column 4096 + 0x341
	addi sp, sp, -64
	.cfi_def_cfa_offset 64
	.set at, 0
	.irp reg, ra, t0, t1, t2, t3, t4, t5, t6, a0, a1, a2, a3, a4, a5, a6, a7
	sw \reg, at(sp)
	.cfi_offset \reg, at - 64
	.set at, at + 4
	.endr
	csrr a0, mcause
	call handle
	.set at, 0
	.irp reg, ra, t0, t1, t2, t3, t4, t5, t6, a0, a1, a2, a3, a4, a5, a6, a7
	lw \reg, at(sp)
	.set at, at + 4
	.endr
	addi sp, sp, 64
	.cfi_def_cfa_offset 0
	mret
	.cfi_endproc
