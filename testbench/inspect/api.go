package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/boards/observer"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// A Register is a register with its value, or with the reason why it was not read.
type Register struct {
	regs.Description
	NotRead string   `json:"not_read,omitempty"`
	Samples *Samples `json:"samples,omitempty"` // for a name or a pattern; nil in a list of all, and of a field
}

// Registers are registers by offset.
type Registers struct {
	Registers []Register `json:"registers"`
}

// A Log is the end of the log of the command.
type Log struct {
	Lines []string `json:"lines"`          // the oldest first
	None  string   `json:"none,omitempty"` // why there are none
}

const (
	// maxWords is the longest answer of /api/bar0 in bytes.
	maxWords = 4096

	// maxTail is the longest answer of /api/log in lines.
	maxTail = 1000
)

// handler returns the paths of the server.
func (s *Server) handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(page)
	})
	for path, do := range map[string]func(*http.Request) (any, error){
		"/api/identity": s.identity, "/api/registers": s.registers, "/api/register/{name}": s.register, "/api/ring": s.ring,
		"/api/log": s.log, "/api/bar0": s.bar0, "/api/config": s.config,
	} {
		m.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			answer, err := do(r)
			if err != nil {
				f := failure(err)
				reply(w, f.Status(), f)
				return
			}
			reply(w, http.StatusOK, answer)
		})
	}
	m.HandleFunc("/events", s.events)
	m.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		reply(w, http.StatusNotFound, observer.Failure{Kind: observer.Bad, Error: fmt.Sprintf("no page %q", r.URL.Path)})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'")
		switch {
		case !s.named(r):
			reply(w, http.StatusForbidden, observer.Failure{Kind: observer.Bad, Error: fmt.Sprintf("host %q is not the address of this server", r.Host)})
		case r.Method != http.MethodGet:
			h.Set("Allow", http.MethodGet)
			reply(w, http.StatusMethodNotAllowed, observer.Failure{Kind: observer.Bad, Error: "only GET: the board is read-only here"})
		default:
			m.ServeHTTP(w, r)
		}
	})
}

// named reports whether a request names this server: a name of the loopback interface, the
// address of the connection, or the host that the user gave. So a page elsewhere whose name is
// made to resolve to this address reads nothing.
func (s *Server) named(r *http.Request) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") || s.host != "" && strings.EqualFold(host, s.host) {
		return true
	}
	ip := net.ParseIP(host)
	if ip == nil {
		return false
	}
	here, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ip.IsLoopback() || ok && here.IP.Equal(ip)
}

func reply(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(answer)
}

// errInput is wrapped by errors of a request.
var errInput = errors.New("inspect: bad request")

// failure returns an error in JSON.
func failure(err error) observer.Failure {
	f := observer.Failure{Kind: observer.LinkFail, Error: err.Error()}
	switch {
	case errors.Is(err, errInput), errors.Is(err, regs.ErrName):
		f.Kind = observer.Bad
	case errors.Is(err, errRefused):
		f.Kind = observer.Refused
	case errors.Is(err, regs.ErrMapHash):
		f.Kind = observer.Map
	case errors.Is(err, errNoBoard):
		f.Kind = observer.NoBoard
	case errors.Is(err, bus.ErrArgument), errors.Is(err, bus.ErrUnsupported):
		f.Kind, f.Error = observer.NoBoard, "the board is not set up yet: "+f.Error
	}
	return f
}

// with calls do with the board that is shown. A board that was closed is forgotten, and the one
// opened before it is shown.
func (s *Server) with(ctx context.Context, do func(*board, *regs.Function) error) error {
	for {
		b, err := s.board()
		if err != nil {
			return err
		}
		err = b.with(ctx, func(f *regs.Function) error { return do(b, f) })
		if !errors.Is(err, bus.ErrClosed) {
			return err
		}
		s.forget(b)
	}
}

func (s *Server) identity(r *http.Request) (answer any, err error) {
	err = s.with(r.Context(), func(b *board, f *regs.Function) error {
		answer = observer.Identity{Format: observer.Format, Program: s.opt.Program, Device: f.Identity(), Copied: b.twin != nil}
		return nil
	})
	return answer, err
}

func (s *Server) registers(r *http.Request) (any, error) { return s.find(r.Context(), "*.*", false) }

func (s *Server) register(r *http.Request) (any, error) {
	return s.find(r.Context(), strings.TrimSuffix(r.PathValue("name"), "!"), true)
}

// find returns the registers of a name or a pattern, with their samples or without.
func (s *Server) find(ctx context.Context, name string, sampled bool) (all Registers, err error) {
	err = s.with(ctx, func(b *board, f *regs.Function) error {
		targets, err := f.Find(name)
		if err != nil {
			return err
		}
		if all, err = b.values(f, targets); err != nil || !sampled {
			return err
		}
		for i, t := range targets {
			if t.Field == nil && all.Registers[i].NotRead == "" {
				all.Registers[i].Samples = b.samples[t.Entry.Off()].answer()
			}
		}
		return nil
	})
	return all, err
}

// values reads targets that have no read effect.
func (b *board) values(f *regs.Function, targets []regs.Target) (Registers, error) {
	all := Registers{Registers: []Register{}}
	for _, t := range targets {
		if effect := t.ReadEffect(); effect != "" {
			all.Registers = append(all.Registers, Register{Description: t.Describe(), NotRead: effect})
			continue
		}
		values, _, err := f.ReadAll([]regs.Target{{Entry: t.Entry, High: t.High, Field: t.Field}})
		if err != nil {
			return all, err
		}
		all.Registers = append(all.Registers, Register{Description: values[0].Describe()})
	}
	return all, nil
}

func (s *Server) log(r *http.Request) (any, error) {
	n, err := number(r, "tail", 20, 0, maxTail)
	if err != nil {
		return nil, err
	}
	return s.tail(n), nil
}

// tail returns the last n lines of the log.
func (s *Server) tail(n int) Log {
	if s.opt.Log == nil {
		return Log{Lines: []string{}, None: "no log"}
	}
	return Log{Lines: append([]string{}, s.opt.Log.Tail(n)...)}
}

func (s *Server) bar0(r *http.Request) (answer any, err error) {
	off, err := number(r, "off", -1, 0, pcicfg.BAR0Size-4)
	if err != nil {
		return nil, err
	}
	n, err := number(r, "len", 4, 4, maxWords)
	if err != nil {
		return nil, err
	}
	if off%4 != 0 || n%4 != 0 {
		return nil, fmt.Errorf("%w: off %#x, len %d, want multiples of 4", errInput, off, n)
	}
	err = s.with(r.Context(), func(b *board, _ *regs.Function) error {
		values, age, err := b.wordsFrom(uint32(off), n/4)
		words := observer.Words{Off: regs.Hex(off), Age: age.Milliseconds()}
		for _, v := range values {
			words.Values = append(words.Values, regs.Hex(v))
		}
		answer = words
		return err
	})
	return answer, err
}

func (s *Server) config(r *http.Request) (answer any, err error) {
	off, err := number(r, "off", -1, 0, 0xffc)
	if err == nil && off%4 != 0 {
		err = fmt.Errorf("%w: off %#x, want a multiple of 4", errInput, off)
	}
	if err != nil {
		return nil, err
	}
	err = s.with(r.Context(), func(b *board, _ *regs.Function) error {
		v, err := b.config(off)
		if errors.Is(err, bus.ErrUnsupported) {
			err = fmt.Errorf("%w: %w", errRefused, err)
		}
		answer = observer.Words{Off: regs.Hex(off), Values: []regs.Hex{regs.Hex(v)}}
		return err
	})
	return answer, err
}

// number returns a parameter of a request, or without it the given value; -1: it must be there.
func number(r *http.Request, name string, without, least, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" && without >= 0 {
		return without, nil
	}
	v, err := strconv.ParseInt(text, 0, 64)
	if err != nil || v < int64(least) || v > int64(most) {
		return 0, fmt.Errorf("%w: %s=%q, want a number from %d to %d", errInput, name, text, least, most)
	}
	return int(v), nil
}
