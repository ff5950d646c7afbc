package relay_test

import (
	"errors"

	"github.com/hilgpu/hilgpu/bus/bustest"
)

// Sizes of a bulk transfer.
const (
	bulkBytes  = 128 << 10 // of the device, written by the host and then back by the device
	writeBytes = 8192      // of a call
)

// A numberedHost is a host whose ledger gets the packets that a device writes to memory.
type numberedHost struct {
	*bustest.Host
	ledger *ledger
}

// WriteMem implements bus.Host. A root port calls it once for a packet without gaps.
func (h *numberedHost) WriteMem(addr uint64, p []byte) error {
	if addr < bustest.MessageBase {
		h.ledger.arrive(p)
	}
	return h.Host.WriteMem(addr, p)
}

// stream makes the calls of a bulk transfer: writes, and now and then a job that moves
// the data back.
func (w *work) stream() error {
	if w.at == len(w.model) {
		return w.moveBack()
	}
	if err := w.write(); err != nil {
		return err
	}
	w.at += writeBytes
	return nil
}

// moveBack makes the device write its memory to that of the host, and reads a part of it.
func (w *work) moveBack() error {
	w.at = 0
	w.back.expect(w.ledger.last())
	w.moved += uint64(len(w.model))
	w.host.ForgetMessages()
	if err := bustest.StartJob(w.link, bustest.JobWrite, w.host.Base, 0, uint32(len(w.model))); err != nil {
		return err
	}
	if err := w.message(); err != nil {
		return err
	}
	if err := w.once(); err != nil {
		return err
	}
	if err := same("memory of the host", w.host.Mem[:len(w.model)], w.model); err != nil {
		return err
	}
	return errors.Join(w.back.complete(), w.read())
}

// restart continues a bulk transfer in a new session.
func (w *work) restart() error {
	w.at = 0
	err := w.ledger.resume()
	w.back.expect(w.ledger.last())
	return errors.Join(err, w.back.resume())
}

// complete checks that all packets have arrived in both directions.
func (w *work) complete() error {
	for w.bulk && w.at < len(w.model) {
		if err := w.stream(); err != nil {
			return err
		}
	}
	if w.bulk {
		if err := w.moveBack(); err != nil {
			return err
		}
	} else if err := w.read(); err != nil {
		return err
	}
	return w.ledger.complete()
}
