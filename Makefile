# Users need only make run and make test. The other targets are for developers.

GO    ?= go
BIN   := bin/hilgpu
FRAME := out/frame.png

# No package needs cgo. Without it a machine with a C compiler builds the same program.
export CGO_ENABLED = 0

# Clocks of make lockstep, for each configuration.
CYCLES        ?= 500000
ICARUS_CYCLES ?= 10000
SEED          ?= 1
MUTANTS       ?= 200
DRIVERMUTANTS ?= 0
KERNELMUTANTS ?= 200
SEEDS         ?= 4

.PHONY: help run test test-long build pgo pgo-check gen gen-check firmware firmware-check fmt-check vet lint race seeds bench soak clean tools lockstep synth board mutants drivermutants kernelmutants verilog dist

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 14

run: build ## compose the sample images on the emulated GPU, check every pixel, write out/frame.png
	@mkdir -p $(dir $(FRAME))
	$(BIN) run compose --check -o $(FRAME)

STRESS_FIRMWARE = --hang 0.00125 --faults bad-packet=0.01,host-read=0.001,lost-interrupt=0.05,no-memory=0.01,unplug=0.002
STRESS = $(STRESS_FIRMWARE),ignore-preempt=0.02,ignore-reset=0.002

# "make vet" runs go vet. Without debug information the linker takes half the time.
TESTFLAGS = -vet=off -ldflags=-w
PACKAGES  = ./...
TESTSUM   =

# The race detector does not watch the RTL, which has no goroutines: the link that owns it is
# watched. Runs of the emulator take about half the time so. In "make soak" the seeds watch it too.
RTL  = github.com/hilgpu/hilgpu/rtl
RACE = CGO_ENABLED=1 $(GO) test -race -gcflags $(RTL)/...=-race=false -gcflags $(RTL)/verilog/...= -gcflags $(RTL)/lockstep/...= -gcflags $(RTL)/wave=

test: ## all tests of the fast set; the last line counts the skipped tests
	HILGPU_FAST=1 $(GO) run ./cmd/testsum $(TESTSUM) $(TESTFLAGS) -timeout 30m $(PACKAGES)

test-long: ## the tests that are not in the fast set, and main paths without a log
	$(GO) run ./cmd/testsum -long $(TESTFLAGS)
	HILGPU_RECORD=off $(GO) run ./cmd/testsum $(TESTFLAGS) -count 1 ./testbench/compose ./testbench/lists ./testbench/model
	HILGPU_RECORD=off $(GO) run ./cmd/testsum $(TESTFLAGS) -count 1 ./testbench -run '^(TestCompose|TestKernelDraws)$$'

build: ## bin/hilgpu
	$(GO) build -trimpath -o $(BIN) ./cmd/hilgpu

pgo: ## write cmd/hilgpu/default.pgo, the profile with which go build optimizes bin/hilgpu
	$(GO) run ./cmd/pgo

pgo-check: ## fail if too little of the profile is still in the source
	$(GO) run ./cmd/pgo -check

gen: ## generate files from the tables: docs/registers.md, docs/packets.md, docs/selectors.md, docs/boards.md, the DDI wrappers
	$(GO) run ./cmd/gen

gen-check: ## fail if a generated file differs from the tables
	$(GO) run ./cmd/gen -check

firmware: ## build the image of the firmware and its ELF file, in out/firmware, with the pinned compiler
	$(GO) run ./firmware/build

firmware-check: ## fail if the image of the firmware is not that of its sources
	$(GO) run ./firmware/build -check

fmt-check: ## fail if a file is not formatted
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "not formatted:"; echo "$$out"; exit 1; fi

vet: ## go vet, and the rules of docs/rtl.md on the RTL
	$(GO) vet ./...
	$(GO) vet -tags 'timer bitstream' ./rtl/synth ./boards/gateware
	$(GO) build -o bin/rtlvet ./cmd/rtlvet
	$(GO) vet -vettool=$(CURDIR)/bin/rtlvet ./rtl/...

lint: ## staticcheck
	$(GO) tool staticcheck ./...

# Excluded: RTL, gateware at its pins, work without drivers, proofs and generators, which have
# no goroutines; measurements; commands that only start simulators; drivers with mistakes, and
# mistakes that are only named, which run the suite or a frame once for each; mutants of the
# kernel, which only start its tests; boards that an earlier host used, which differ from clean
# ones only in their state; random calls and large images of one thread; texts of help, manual and
# completion; sweeps of the place of a stop and of rates of faults, whose single cases run
# elsewhere; pages, damaged logs and long texts; and TestOneSeedOneRun, which make seeds starts once
# for each build. The two packages that take longest begin first.
race: ## the tests under the race detector, except tests without goroutines (needs a C compiler)
	$(RACE) $(TESTFLAGS) -timeout 20m -skip 'TestOneSeedOneRun|TestLockstep|TestProve|TestVerilog|TestVerilated(Is|Left|Without|Composes)|TestGateware|TestDirty|TestPin|TestWords|TestShape|TestSuite/(random|order)|TestCompose/images|TestDecoders|TestOperandsOfDecoders|TestWorkload|TestChildPasses|TestCommands|TestWaive|TestEachFault|TestWorkingSets|TestPriority|TestBoardResetsItself|TestHangs|TestPlanted|TestQuestionsAboutPlanted|TestFirmware(Hangs|StopsInQueues|IsGone)|TestKernelDraw|TestZeros|TestLinkIsCutInATable|TestExplore|TestHostMemoryInPieces|TestModel$$|TestPage(OfSamples)?$$|TestDamaged|TestWrongLogs|TestEscapeRandom|TestManualIs|TestGeneratedCommands|TestPlaybackIsBounded|TestLimits|TestLongTexts|TestDevicesInQueues|TestQueuesOfOtherBoards' ./testbench ./testbench/stress $$($(GO) list ./... | grep -vE '/(boards/(pins|gateware|ice40hx8k|ulx3s|colorlighti5|shell)|cmd/(dist|gen|hilgpu|pgo|rtlvet|testsum|typecheck)|boards/dirty|firmware/(build|fwtest)|testbench/(link|figures|drivermutant|kernelmutant|drivertest|drivertest/.*|device/[a-z]+|scheduling|sanitize|why)|rtl/(abi|arbiter|cp|crc32|dma|eth|fence|gart|gpu|hostbfm|ident|intc|link|lockstep|mcu|mem|noc|pcie|perf|refmodel|regram|reset|synth|uart|verilog|watchdog)(/.*)?)$$')
	$(RACE) $(TESTFLAGS) -timeout 20m ./cmd/hilgpu -run 'Serve|Network|Killed|GDB|Inspect|InUse|NetTLP|Soak|Lists|LostInterrupts'

SEEDRUN = ./testbench/stress -run TestOneSeedOneRun -stress.seeds $(SEEDS) -stress.digests $(CURDIR)/out/digests

seeds: ## one digest for each seed of hilgpu run stress: with one and two processors, waves, without sleep, and with the race detector; SEEDS
	@mkdir -p out && rm -f out/digests
	$(GO) test -count 1 -timeout 0 $(SEEDRUN)
	$(GO) test -count 1 -timeout 0 -tags awake $(SEEDRUN)
	$(RACE) -count 1 -timeout 0 $(SEEDRUN)

bench: build ## print the figures and fail if one misses its target; cycles are exact, speeds depend on this machine
	$(BIN) bench device
	$(BIN) bench rtl
	HILGPU_FIGURES=strict $(GO) test -pgo $(CURDIR)/cmd/hilgpu/default.pgo -run '^$$' -bench . -benchtime 1x -count 1 ./rtl/... ./hostdriver/miniport ./bus/line ./boards/pins ./boards/serve ./testbench ./testbench/link ./testbench/why

soak: build ## the long campaigns: random devices, API calls and links, fuzzing, lockstep, mutants; hours
	.ci/dist all
	$(GO) test -count 1 -timeout 60m ./rtl/gpu -run TestRandomDevice -device.seed 1000 -device.runs 2000
	$(GO) test -count 1 -timeout 60m ./rtl/gpu -run 'TestRandomDevice$$' -device.seed 1 -device.runs 4 -device.cycles 10000000
	$(GO) test -count 1 -timeout 60m ./rtl/gpu -run TestRandomBytes -device.buffers 1000000
	$(GO) test -count 1 -timeout 60m ./testbench/device/storm -run 'TestStorm$$' -storm.cycles 20000000
	$(GO) test -count 1 -timeout 60m ./testbench/scheduling -v -scheduling.stride 1
	$(GO) test -count 1 -timeout 60m ./testbench/sanitize -v -run OnALink -sanitize.link 352
	$(GO) test -count 1 -timeout 60m ./testbench -run 'TestSuite/random' -suite.seed 1000 -suite.runs 200
	$(GO) test -count 1 -timeout 60m ./testbench -run TestWorkingSets -workingsets 100
	$(GO) test -count 1 -timeout 60m ./testbench -run TestDirty -dirty.seed 1000 -dirty.seeds 500
	$(BIN) test --board 'verilated?config=small&dirty=1'
	$(GO) test -count 1 -timeout 60m ./boards/dirty -dirty.seeds 20000
	for s in 1 2 3 4; do $(GO) test -count 1 -timeout 60m ./testbench/model -run TestModel -rapid.seed $$s -rapid.checks 100 -rapid.steps 1000 || exit 1; done
	$(GO) test -count 1 -timeout 60m ./testbench/model -run TestThreads -model.rounds 5000
	$(GO) test -count 1 -timeout 60m ./testbench/lists -run TestMemory -lists.soak 10000000
	$(GO) test -count 1 -timeout 60m ./runtime/dxgkrnl -run TestNoWakeUpIsLost -dxgkrnl.interleavings 100000
	$(GO) test -count 1 -timeout 60m ./runtime/dxgkrnl -run TestWorkingSets -dxgkrnl.workingsets 2000
	$(GO) test -count 1 -timeout 120m ./runtime/dxgkrnl -v -run TestExplore -dxgkrnl.explored 0
	for p in hostdriver/umd runtime/d3d11 runtime/dxgkrnl; do $(GO) test -count 1 -timeout 60m ./$$p -rapid.checks 3000 || exit 1; done
	$(GO) test ./rtl/abi/pkt -run '^$$' -fuzz FuzzDecode -fuzztime 3m
	$(GO) test ./hostdriver/miniport -run '^$$' -fuzz FuzzRender -fuzztime 5m
	$(GO) test ./firmware -run '^$$' -fuzz FuzzParse -fuzztime 3m
	$(GO) test ./testbench/why -run '^$$' -fuzz FuzzWhy -fuzztime 3m -fuzzminimizetime 10x
	$(GO) test -count 1 -timeout 60m ./firmware/fwtest -v -run TestDamagedPrograms -fwtest.seed 1000 -fwtest.images 10000
	$(GO) test -count 1 -timeout 60m ./firmware/fwtest -v -run TestRandomMessages -fwtest.messages.seed 1000 -fwtest.messages 1000000
	$(GO) test -pgo $(CURDIR)/cmd/hilgpu/default.pgo -count 1 -timeout 90m ./firmware/fwtest -v -run TestQueueCampaign -fwtest.queueseed 1000 -fwtest.queueops 100000
	$(GO) test -count 1 -timeout 60m ./testbench -v -run InQueues -queues.scale 4
	$(GO) test -count 1 -timeout 60m ./testbench/hostile -hostile.buffers 10000000 -hostile.rtl 10000000 -hostile.blocks 2000000 -hostile.changes 100000
	$(GO) test -count 1 -timeout 120m ./testbench/hostile -run TestDecoders -hostile.headers
	$(GO) test ./bus/tlp -run '^$$' -fuzz FuzzDecode -fuzztime 3m
	$(GO) test ./bus/datalink -run '^$$' -fuzz FuzzReceive -fuzztime 3m
	$(GO) test ./bus/frame -run '^$$' -fuzz FuzzDecoder -fuzztime 3m
	$(GO) test ./bus/endpoint -run '^$$' -fuzz FuzzReceive -fuzztime 3m
	$(GO) test ./bus/capture -run '^$$' -fuzz FuzzReader -fuzztime 3m
	for f in FuzzNext FuzzSession; do $(GO) test ./boards/gdbserver -run '^$$' -fuzz $$f -fuzztime 3m || exit 1; done
	$(GO) test -count 1 -timeout 60m ./bus/datalink -run 'TestFaults$$' -link.packets 1000000
	$(GO) test -count 1 -timeout 60m ./bus/line -run TestDisconnections -line.packets 1000000
	$(GO) test -count 1 -timeout 120m ./testbench/relay -run Sessions -relay.seed 1000 -relay.sessions 125
	$(GO) test -count 1 -timeout 120m ./testbench/relay -run Compose -relay.seed 1000 -relay.frames 20
	$(GO) test -count 1 -timeout 360m ./testbench/relay -v -run FaultsAndCuts -relay.packets 1000000 -relay.cuts 100
	for b in ice40-hx8k ulx3s ulx3s-mcu ulx3s-25f colorlight-i5; do $(GO) test -count 1 -timeout 60m ./boards/gateware -v -run TestLockstep -gateware.lock $$b -gateware.clocks 1000000 || exit 1; done
	$(GO) test -count 1 -timeout 60m ./boards/gateware -v -run TestLockstep -gateware.sim netlist -gateware.clocks 300000
	for b in ulx3s ulx3s-mcu ulx3s-25f ulx3s-12f colorlight-i5; do $(BIN) board build $$b || test $$? = 2 || exit 1; done # 2: without the placer
	$(GO) test -count 1 -timeout 60m ./rtl/eth -eth.bytes 100000000 -eth.seed 1000 -eth.clocks 10000000
	$(GO) test -count 1 -timeout 60m ./boards/shell -shell.words 1000000
	$(GO) test -count 1 -timeout 120m ./boards/pins -pins.calls 5000 -pins.bytes 100000000
	$(GO) test -count 1 -timeout 120m ./boards/pins -v -run TestFaultsAndCuts -pins.packets 1000000 -pins.cuts 100
	$(GO) test -count 1 -timeout 60m ./boards -run TestPinsConformance -boards.pins
	$(GO) test -count 1 -timeout 60m ./testbench/device/bringup -run 'TestPinFaults|TestPinCauses' -bringup.sequencer 10 -bringup.seeds 8 -bringup.boards
	for b in ice40-hx8k ulx3s ulx3s-mcu colorlight-i5; do for s in go verilator; do $(BIN) test --board "pins:$$b?sim=$$s" && $(BIN) bringup --board "pins:$$b?sim=$$s" || exit 1; done; done
	.ci/gateware whole
	$(MAKE) board
	$(BIN) board build ice40-hx8k -o out/again && cmp out/again/ice40-hx8k.bin out/ice40-hx8k/ice40-hx8k.bin
	$(GO) test -count 1 -timeout 60m ./testbench/link -skip TestProgramMutants -link.steps 20000 -link.packets 1000000 -link.frames 1000000
	$(GO) test -count 1 -timeout 0 ./testbench/link -v -run TestProgramMutants -link.mistakes 200 -link.seed $(SEED)
	$(GO) test -count 1 -timeout 60m ./rtl/mcu/core -v -run "TestQEMU|TestLockstep|TestModel" -core.qemu 10000000 -core.clocks 10000000 -core.model 10000000
	$(GO) test -count 1 -timeout 120m ./testbench -v -run TestHangsAreRecovered -recovery.hangs 1000
	$(GO) test -count 1 -timeout 120m ./testbench/stress -v -run TestVerilog -stress.verilog 20
	$(MAKE) seeds SEEDS=1000 RACE='CGO_ENABLED=1 $(GO) test -race'
	$(BIN) run stress --board 'emu?vram=1MiB' --rounds 0 --time 1h $(STRESS)
	$(BIN) run stress --board 'emu?config=full&vram=128KiB' --firmware-queues --rounds 0 --time 20m $(STRESS_FIRMWARE),firmware=0.002
	$(BIN) run stress --board 'line?vram=64KiB' --rounds 0 --time 10m --faults bad-packet=0.01,host-read=0.001,lost-interrupt=0.05
	$(BIN) run stress --board 'verilated?vram=64KiB' --rounds 0 --time 10m $(STRESS)
	$(GO) test -count 1 -timeout 60m ./rtl/mcu -v -run "TestLockstep|TestSleeps" -mcu.clocks 10000000
	$(GO) test -count 1 -timeout 60m ./rtl/gart -v -run TestLockstep -gart.clocks 10000000
	$(GO) test -count 1 -timeout 60m ./rtl/mcu/rv32 -v -rv32.qemu 1000000
	$(MAKE) lockstep CYCLES=10000000 ICARUS_CYCLES=100000
	for c in small 'default?vram=8KiB'; do $(BIN) lockstep --config $$c --sim netlist --cycles 10000 || exit 1; done
	$(MAKE) synth
	$(GO) test -count 1 -timeout 60m -tags timer ./rtl/synth -v -run "TestTimer|TestMCUInDefault"
	$(MAKE) mutants
	$(MAKE) kernelmutants SEED=1000

tools: ## install the other tools of tests and targets, from Debian packages
	apt-get update
	apt-get install -y --no-install-recommends verilator iverilog yosys nextpnr-ice40 fpga-icestorm g++ make tshark iputils-ping git bash qemu-system-misc gcc gcc-riscv64-unknown-elf gdb-multiarch chromium gtkwave libgtk-3-bin

verilog: build ## the configurations default and small as Verilog, in out/verilog
	$(BIN) verilog --config default -o out/verilog/default
	$(BIN) verilog --config small -o out/verilog/small

lockstep: build ## the GPU against its Verilog at every clock, in three configurations and both simulators, with a second master, and with a microcontroller that runs programs; CYCLES, ICARUS_CYCLES, SEED
	@mkdir -p $(dir $(FRAME))
	@set -e; for config in default small 'small?aperture=0&vramports=1'; do \
	  run="$(BIN) lockstep --config $$config --seed $(SEED) --wave out/lockstep.vcd"; \
	  $$run --cycles $(CYCLES); $$run --session; $$run --sweep; $$run --sim icarus --cycles $(ICARUS_CYCLES); \
	  case $$config in *aperture=0*) ;; *) $$run --storm;; esac; \
	done
	for config in 'default?master=1' full; do $(BIN) lockstep --config $$config --seed $(SEED) --cycles $(CYCLES) --wave out/lockstep.vcd || exit 1; done

mutants: build ## mutants of the Verilog: fail if lockstep detects less than 98 % of those that are not equivalent, of the GPU in three configurations and of the links; MUTANTS, SEED
	@set -e; for config in default small 'small?aperture=0&vramports=1'; do \
	  $(BIN) lockstep mutants --config $$config --seed $(SEED) --count $(MUTANTS); \
	done
	$(BIN) lockstep mutants --config default --seed $(SEED) --known
	$(GO) test -count 1 -timeout 0 ./testbench/link -v -run TestMutants -link.module all -link.mutants $$(($(MUTANTS)/2)) -link.seed $(SEED)
	$(GO) test -count 1 -timeout 0 ./rtl/eth -v -run TestMutants -eth.mutants $$(($(MUTANTS)/4)) -eth.seed $(SEED)
	$(GO) test -count 1 -timeout 0 ./rtl/mcu/core -v -run TestMutants -core.mutants $(MUTANTS) -core.seed $(SEED)
	$(GO) test -count 1 -timeout 0 ./rtl/mcu -v -run TestMutants -mcu.clocks 500000 -mcu.mutants $(MUTANTS) -mcu.seed $(SEED)
	$(GO) test -count 1 -timeout 0 ./rtl/gart -v -run TestMutants -gart.mutants $(MUTANTS) -gart.seed $(SEED)

drivermutants: ## mistakes planted at the edges of both drivers, which the suite must notice; DRIVERMUTANTS (0: all), SEED
	$(GO) test -count 1 -timeout 60m ./testbench/drivermutant -v -run TestMutants -mutants.count $(DRIVERMUTANTS) -mutants.seed $(SEED)

kernelmutants: ## mistakes in the source of the graphics kernel, of which its tests must catch 95 %; KERNELMUTANTS, SEED
	$(GO) test -count 1 -timeout 0 ./testbench/kernelmutant -v -run TestMutants -kernelmutants.count $(KERNELMUTANTS) -kernelmutants.seed $(SEED)

synth: build ## LUTs, flip-flops, block RAM and DSPs of every block on iCE40 and ECP5, small placed on an HX8K; fails on a bad log and above a budget
	$(BIN) synth

board: build ## the bitstream of ice40-hx8k, in out/ice40-hx8k, and its answers in Icarus compared with those of the Go
	$(BIN) board build ice40-hx8k
	$(GO) test -count 1 -timeout 60m -tags bitstream ./boards/gateware -run TestAnswer -v -gateware.bitstream $(CURDIR)/out/ice40-hx8k/ice40-hx8k.bin

dist: ## out/dist: archives of HEAD for Linux, macOS and Windows on amd64 and arm64, and SHA256SUMS
	$(GO) run ./cmd/dist -o out/dist

clean: ## remove build output
	rm -rf bin out
