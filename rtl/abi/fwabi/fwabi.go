// Package fwabi declares what the firmware of the microcontroller and its host agree on: the
// header of an image, the mail words, the stages of the boot and their results, and the messages.
// The headers in C are generated from it.
package fwabi

import (
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// Version is the version of everything in this package. Images of other versions are refused.
const Version = 1

// Magic is the first dword of an image: the bytes H, L, F, W.
const Magic = 0x57464c48

// Offsets in the header of an image, in bytes. Each field is a dword, little-endian, but the
// build id, which is BuildBytes bytes.
const (
	HeaderMagic   = 0x00
	HeaderVersion = 0x04
	HeaderLayout  = 0x08
	HeaderBuild   = 0x0c
	HeaderSize    = 0x1c
	HeaderEntry   = 0x20
	HeaderMemory  = 0x24
	HeaderCRC     = 0x28
	HeaderCheck   = 0x2c

	HeaderBytes = 0x30
	BuildBytes  = 16
)

// A HeaderField is a field of the header.
type HeaderField struct {
	Off   uint32
	Bytes uint32
	Name  string
	Doc   string
}

// Header has the fields of the header of an image, which is before the program.
var Header = []HeaderField{
	{HeaderMagic, 4, "magic", "0x57464c48, the bytes H, L, F, W"},
	{HeaderVersion, 4, "version", "version of header, mail words and messages"},
	{HeaderLayout, 4, "layout", "hash of the layouts that the program uses"},
	{HeaderBuild, BuildBytes, "build", "build id: the first 16 bytes of the SHA-256 of the source"},
	{HeaderSize, 4, "size", "bytes of the program, a multiple of 4"},
	{HeaderEntry, 4, "entry", "address of the first instruction, 0"},
	{HeaderMemory, 4, "memory", "bytes of memory that the program needs, with variables and stack"},
	{HeaderCRC, 4, "crc", "CRC-32 of the program, as MCU.CRC computes it"},
	{HeaderCheck, 4, "check", "CRC-32 of the header before this field"},
}

// Numbers of the mail words during the boot.
const (
	MailCheckpoint = iota
	MailResult
	MailDetail0
	MailDetail1
	MailDetail2
	MailMapHash
	MailTest
	MailBuild
)

// Fields of the mail word TEST.
const (
	TestScratch = 1 << 0
	TestBytes   = mcureg.SizeBytes
	TestWindow  = 7 << 29
)

// Mail describes the mail words during the boot, at their addresses in the program.
var Mail = reg.Block{
	Name: "MAIL", Base: mcureg.Local + mcureg.Mail, Size: 4 * mcureg.Mails,
	Doc: "the mail words during the boot",
	Regs: []reg.Reg{
		{Off: 4 * MailCheckpoint, Name: "CHECKPOINT", Access: reg.RW, Doc: "the stage of the boot that began last; the host clears it"},
		{Off: 4 * MailResult, Name: "RESULT", Access: reg.RW, Doc: "0 during the boot, then READY or the reason why it stopped; the host clears it"},
		{Off: 4 * MailDetail0, Name: "DETAIL0", Access: reg.RW, Doc: "after READY 1 if the program serves messages, else 0; after a failed test the address of the access, after MEMORY_VALUE that of its block of 64 bytes; after INTERRUPT and TRAP mcause"},
		{Off: 4 * MailDetail1, Name: "DETAIL1", Access: reg.RW, Doc: "after a failed test the value that was found; after TRAP mepc"},
		{Off: 4 * MailDetail2, Name: "DETAIL2", Access: reg.RW, Doc: "after a failed test the value that was expected; after TRAP mtval"},
		{Off: 4 * MailMapHash, Name: "MAP_HASH", Access: reg.RW, Doc: "set by the host: ID.MAP_HASH as it reads it"},
		{Off: 4 * MailTest, Name: "TEST", Access: reg.RW, Doc: "set by the host: what the self-test may use", Fields: []reg.Field{
			{Mask: TestScratch, Name: "SCRATCH", Doc: "1: BLOCKS allows writes of the block ID, and the test writes SCRATCH3; 0: such a write must be refused"},
			{Mask: TestBytes, Name: "BYTES", Unit: "bytes", Doc: "size of the window that the test may overwrite; 0: no test of a window"},
			{Mask: TestWindow, Name: "WINDOW", Doc: "its number"},
		}},
		{Off: 4 * MailBuild, Name: "BUILD", Access: reg.RW, Doc: "first dword of the build id of the program that runs"},
	},
}

// A Code is a stage or a result with its meaning.
type Code struct {
	Value uint32
	Name  string
	Doc   string
}

// Stages of the boot.
const (
	StageNone = iota
	StageStart
	StageMemory
	StageBus
	StageLock
	StageWindow
	StageTimer
	StageLoop
)

// Stages describes the values of CHECKPOINT.
var Stages = []Code{
	{StageNone, "NONE", "the program has not begun"},
	{StageStart, "START", "the start code runs and has set mtvec"},
	{StageMemory, "MEMORY", "test of the data memory"},
	{StageBus, "BUS", "reads of the register bus"},
	{StageLock, "LOCK", "writes of the register bus, allowed or refused"},
	{StageWindow, "WINDOW", "test of a window"},
	{StageTimer, "TIMER", "test of time and timer interrupt"},
	{StageLoop, "LOOP", "the boot is complete"},
}

// Results of the boot.
const (
	ResultBusy = iota
	ResultMemoryValue
	ResultMemoryLanes
	ResultMemorySize
	ResultBusFault
	ResultMagic
	ResultMapHash
	ResultUnlocked
	ResultScratch
	ResultWindowFault
	ResultWindowValue
	ResultWindowEnd
	ResultTimeStopped
	ResultTimerEarly
	ResultTimerLate
	ResultInterrupt
	ResultTrap

	ResultReady = 0x59444552 // the bytes R, E, D, Y
)

// Results describes the values of RESULT.
var Results = []Code{
	{ResultBusy, "BUSY", "the boot is not complete"},
	{ResultMemoryValue, "MEMORY_VALUE", "a word of the data memory does not keep its value"},
	{ResultMemoryLanes, "MEMORY_LANES", "a write of a byte or half a word changes other bytes or not its own"},
	{ResultMemorySize, "MEMORY_SIZE", "the size of the memory is not that in MCU.INFO"},
	{ResultBusFault, "BUS_FAULT", "the register bus does not answer an access"},
	{ResultMagic, "MAGIC", "ID.MAGIC has another value"},
	{ResultMapHash, "MAP_HASH", "ID.MAP_HASH has another value than the host read"},
	{ResultUnlocked, "UNLOCKED", "a write that BLOCKS does not allow was not refused"},
	{ResultScratch, "SCRATCH", "ID.SCRATCH3 does not keep its value"},
	{ResultWindowFault, "WINDOW_FAULT", "the window does not answer an access"},
	{ResultWindowValue, "WINDOW_VALUE", "a word in the window does not keep its value"},
	{ResultWindowEnd, "WINDOW_END", "a read past the end of the window was not refused"},
	{ResultTimeStopped, "TIME_STOPPED", "TIME does not advance"},
	{ResultTimerEarly, "TIMER_EARLY", "the timer interrupt arrived before its time"},
	{ResultTimerLate, "TIMER_LATE", "the timer interrupt did not arrive"},
	{ResultInterrupt, "INTERRUPT", "an interrupt arrived that is not enabled"},
	{ResultTrap, "TRAP", "an exception that no test expects"},
	{ResultReady, "READY", "the program is ready"},
}

// Name returns the name of a value, and false if it has none.
func Name(codes []Code, v uint32) (string, bool) {
	for _, c := range codes {
		if c.Value == v {
			return c.Name, true
		}
	}
	return "", false
}
