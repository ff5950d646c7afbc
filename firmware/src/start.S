/* The start code: traps, the test of the data memory, the stack. It is at address 0. */

#include "boot_abi.h"
#include "registers.h"

#define SMALLEST 0x2000
#define LARGEST 0x10000

/* Values of mcause. */
#define CAUSE_LOAD_FAULT 5
#define CAUSE_STORE_FAULT 7

/* Bytes of a block of the test. */
#define BLOCK 64

/* DWARF numbers of CSRs, for a debugger: 4096 + the number of the CSR. */
#define DWARF_MSCRATCH 0x1340
#define DWARF_MEPC 0x1341

	.option norvc
	.cfi_sections .debug_frame
	.section .text.start, "ax"
	.globl _start
_start:
	.cfi_startproc
	.cfi_undefined ra
	j begin
	.cfi_endproc

/* The register t1 of the program that a trap interrupts. */
saved_t1:
	.word 0

/* The build id, 16 bytes. */
	.globl build_id
build_id:
	.word BUILD0, BUILD1, BUILD2, BUILD3

/* An access fault at one of the two probes is the answer of the probe. Any other one stops the
   program: mail words have its cause, and all registers but t0, which is in mscratch, keep
   their values. No stack is needed. For a debugger the frame is that of a signal: it returns to
   the address in mepc, which may be any instruction. */
	.balign 4
trap:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_return_column DWARF_MEPC
	csrw mscratch, t0
	.cfi_register t0, DWARF_MSCRATCH
	csrr t0, mcause
	bltz t0, interrupted
	sw t1, %lo(saved_t1)(zero)
	csrr t0, mepc
	la t1, probe_read_at
	bne t0, t1, 1f
	csrr t0, mcause
	li t1, CAUSE_LOAD_FAULT
	beq t0, t1, probed
1:	csrr t0, mepc
	la t1, probe_write_at
	bne t0, t1, 2f
	csrr t0, mcause
	li t1, CAUSE_STORE_FAULT
	beq t0, t1, probed
2:	li t0, MAIL
	csrr t1, mcause
	sw t1, MAIL_DETAIL0 - MAIL(t0)
	csrr t1, mepc
	sw t1, MAIL_DETAIL1 - MAIL(t0)
	csrr t1, mtval
	sw t1, MAIL_DETAIL2 - MAIL(t0)
	li t1, RESULT_TRAP
	sw t1, MAIL_RESULT - MAIL(t0)
	lw t1, %lo(saved_t1)(zero)
trapped:
	j trapped

/* a1 reports the fault. The probe continues after its access. */
probed:
	li a1, 1
	csrr t0, mepc
	addi t0, t0, 4
	csrw mepc, t0
	lw t1, %lo(saved_t1)(zero)
	csrr t0, mscratch
	mret

/* interrupt(mcause), with the registers that a C function may change on the stack. */
interrupted:
	csrr t0, mscratch
	addi sp, sp, -INTERRUPT_BYTES
	.cfi_def_cfa_offset INTERRUPT_BYTES
	sw ra, 0(sp)
	.cfi_offset ra, 0 - INTERRUPT_BYTES
	sw t0, 4(sp)
	.cfi_offset t0, 4 - INTERRUPT_BYTES
	sw t1, 8(sp)
	.cfi_offset t1, 8 - INTERRUPT_BYTES
	sw t2, 12(sp)
	.cfi_offset t2, 12 - INTERRUPT_BYTES
	sw t3, 16(sp)
	.cfi_offset t3, 16 - INTERRUPT_BYTES
	sw t4, 20(sp)
	.cfi_offset t4, 20 - INTERRUPT_BYTES
	sw t5, 24(sp)
	.cfi_offset t5, 24 - INTERRUPT_BYTES
	sw t6, 28(sp)
	.cfi_offset t6, 28 - INTERRUPT_BYTES
	sw a0, 32(sp)
	.cfi_offset a0, 32 - INTERRUPT_BYTES
	sw a1, 36(sp)
	.cfi_offset a1, 36 - INTERRUPT_BYTES
	sw a2, 40(sp)
	.cfi_offset a2, 40 - INTERRUPT_BYTES
	sw a3, 44(sp)
	.cfi_offset a3, 44 - INTERRUPT_BYTES
	sw a4, 48(sp)
	.cfi_offset a4, 48 - INTERRUPT_BYTES
	sw a5, 52(sp)
	.cfi_offset a5, 52 - INTERRUPT_BYTES
	sw a6, 56(sp)
	.cfi_offset a6, 56 - INTERRUPT_BYTES
	sw a7, 60(sp)
	.cfi_offset a7, 60 - INTERRUPT_BYTES
	csrr a0, mcause
	call interrupt
	lw ra, 0(sp)
	lw t0, 4(sp)
	lw t1, 8(sp)
	lw t2, 12(sp)
	lw t3, 16(sp)
	lw t4, 20(sp)
	lw t5, 24(sp)
	lw t6, 28(sp)
	lw a0, 32(sp)
	lw a1, 36(sp)
	lw a2, 40(sp)
	lw a3, 44(sp)
	lw a4, 48(sp)
	lw a5, 52(sp)
	lw a6, 56(sp)
	lw a7, 60(sp)
	addi sp, sp, INTERRUPT_BYTES
	.cfi_def_cfa_offset 0
	mret
	.cfi_endproc

/* The program ends here. It neither sleeps nor kicks the watchdog. */
	.globl stop
stop:
	.cfi_startproc
	csrci mstatus, 8
stopped:
	j stopped
	.cfi_endproc

/* struct answer probe_read(uint32_t at) */
	.globl probe_read
probe_read:
	.cfi_startproc
	li a1, 0
probe_read_at:
	lw a0, 0(a0)
	ret
	.cfi_endproc

/* uint32_t probe_write(uint32_t at, uint32_t value) */
	.globl probe_write
probe_write:
	.cfi_startproc
	mv t2, a1
	li a1, 0
probe_write_at:
	sw t2, 0(a0)
	mv a0, a1
	ret
	.cfi_endproc

begin:
	.cfi_startproc
	.cfi_undefined ra
	la t0, trap
	csrw mtvec, t0
	csrw mie, zero
	li s0, MAIL
	li t0, STAGE_START
	sw t0, MAIL_CHECKPOINT - MAIL(s0)
	lw t0, %lo(build_id)(zero)
	sw t0, MAIL_BUILD - MAIL(s0)

/* The memory ends where a read is refused. It is a power of two. */
	li t0, STAGE_MEMORY
	sw t0, MAIL_CHECKPOINT - MAIL(s0)
	li s1, SMALLEST
	li s2, LARGEST
1:	mv a0, s1
	call probe_read
	bnez a1, 2f
	slli s1, s1, 1
	bltu s1, s2, 1b
2:

/* The test of the memory after the program, in blocks of 16 words. A block at b has words of two
   values: b in both halves, and its complement. Two words whose offsets differ in one bit have
   different values. Each word gets its value, and then the complement.

   s1 end, a2 begin, a3 block, a4 and a5 the values of its words, a6 the difference of a4 between
   two blocks */
	.macro each operation
	\operation 0, a4, a5, differs4
	\operation 4, a5, a4, differs5
	\operation 8, a5, a4, differs5
	\operation 12, a4, a5, differs4
	\operation 16, a5, a4, differs5
	\operation 20, a4, a5, differs4
	\operation 24, a4, a5, differs4
	\operation 28, a5, a4, differs5
	\operation 32, a5, a4, differs5
	\operation 36, a4, a5, differs4
	\operation 40, a4, a5, differs4
	\operation 44, a5, a4, differs5
	\operation 48, a4, a5, differs4
	\operation 52, a5, a4, differs5
	\operation 56, a5, a4, differs5
	\operation 60, a4, a5, differs4
	.endm
	.macro first offset, value, other, differs
	sw \value, \offset(a3)
	.endm
	.macro second offset, value, other, differs
	lw t0, \offset(a3)
	bne t0, \value, \differs
	sw \other, \offset(a3)
	.endm
	.macro third offset, value, other, differs
	lw t0, \offset(a3)
	bne t0, \other, \differs\()_other
	.endm
	.macro kick
	sw zero, LOCAL_KICK - MAIL(s0)
	.endm

	la a2, data_begin
	li a6, BLOCK << 16 | BLOCK
	slli a7, a2, 16
	or a7, a7, a2

	mv a3, a2
	mv a4, a7
1:	not a5, a4
	each first
	add a4, a4, a6
	addi a3, a3, BLOCK
	bltu a3, s1, 1b
	kick

	mv a3, a2
	mv a4, a7
1:	not a5, a4
	each second
	add a4, a4, a6
	addi a3, a3, BLOCK
	bltu a3, s1, 1b
	kick

	mv a3, s1
1:	addi a3, a3, -BLOCK
	sub a4, a4, a6
	not a5, a4
	each third
	bltu a2, a3, 1b
	kick

/* Variables begin as 0. */
	la t0, data_end
1:	sw zero, 0(a2)
	addi a2, a2, 4
	bltu a2, t0, 1b

	la sp, stack_top
	mv a0, s1
	call boot

/* t0 is not a4 or not a5. */
differs5_other:
differs4:
	mv a5, a4
differs4_other:
differs5:
	sw a3, MAIL_DETAIL0 - MAIL(s0)
	sw t0, MAIL_DETAIL1 - MAIL(s0)
	sw a5, MAIL_DETAIL2 - MAIL(s0)
	li t0, RESULT_MEMORY_VALUE
	sw t0, MAIL_RESULT - MAIL(s0)
	j stop
	.cfi_endproc
