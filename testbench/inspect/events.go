package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"strconv"
	"time"

	"github.com/hilgpu/hilgpu/boards/regs"
)

const (
	// rate is the usual rate of readings of /events, per second.
	rate = 2

	// leastRate and mostRate bound hz=.
	leastRate = 0.1
	mostRate  = 10

	// lastLines is the length of the log that /events sends.
	lastLines = 20
)

// A stream sends to a client what has changed since it was sent.
type stream struct {
	s    *Server
	w    http.ResponseWriter
	seen map[string]string // values of registers, by name
	last map[string][]byte // other events, by name
}

// events answers with server-sent events until the client leaves: "registers" (Registers, those
// that have changed), "ring" (Nodes), "log" (Log), "problem" (observer.Failure) when the board
// cannot be read, and "ready" when it can be read again.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	hz, err := frequency(r)
	if err != nil {
		f := failure(err)
		reply(w, f.Status(), f)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	st := stream{s: s, w: w, seen: map[string]string{}, last: map[string][]byte{}}
	for ctx := r.Context(); ; {
		if err := st.step(ctx); err != nil {
			return // the client has left
		}
		if err := s.time.sleep(ctx, time.Duration(float64(time.Second)/hz)); err != nil {
			return
		}
	}
}

// frequency returns the rate of a request, in readings per second.
func frequency(r *http.Request) (float64, error) {
	text := r.URL.Query().Get("hz")
	if text == "" {
		return rate, nil
	}
	hz, err := strconv.ParseFloat(text, 64)
	if err != nil || !(hz >= leastRate && hz <= mostRate) {
		return 0, fmt.Errorf("%w: hz=%q, want a number from %g to %g", errInput, text, leastRate, float64(mostRate))
	}
	return hz, nil
}

// step reads the board and sends what has changed. It fails if the client has left.
func (st *stream) step(ctx context.Context) error {
	var changed Registers
	var nodes Nodes
	err := st.s.with(ctx, func(b *board, f *regs.Function) error {
		targets, err := f.Find("*.*")
		if err != nil {
			return err
		}
		all, err := b.values(f, targets)
		if err != nil {
			return err
		}
		changed = st.changed(all)
		nodes, err = b.nodes(f)
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		clear(st.seen)
		delete(st.last, "ready")
		err = st.once("problem", failure(err))
	} else {
		delete(st.last, "problem")
		err = st.once("ready", struct{}{})
		if err == nil && len(changed.Registers) > 0 {
			err = st.send("registers", changed)
		}
		if err == nil {
			err = st.once("ring", nodes)
		}
	}
	if err != nil {
		return err
	}
	return st.once("log", st.s.tail(lastLines))
}

// changed returns the registers that differ from those that were sent.
func (st *stream) changed(all Registers) (out Registers) {
	for _, r := range all.Registers {
		if before, ok := st.seen[r.Name]; !ok || before != r.Value {
			st.seen[r.Name] = r.Value
			out.Registers = append(out.Registers, r)
		}
	}
	return out
}

// once sends an event unless the last one of this name was the same.
func (st *stream) once(name string, data any) error {
	text, err := json.Marshal(data)
	if err != nil || bytes.Equal(st.last[name], text) {
		return err
	}
	st.last[name] = text
	return st.write(name, text)
}

func (st *stream) send(name string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return st.write(name, text)
}

func (st *stream) write(name string, text []byte) error {
	if _, err := fmt.Fprintf(st.w, "event: %s\ndata: %s\n\n", name, text); err != nil {
		return err
	}
	return http.NewResponseController(st.w).Flush()
}
