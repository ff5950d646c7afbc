package verifier

import (
	"bytes"
	"slices"
	"strings"
)

// private is the tracked state of an object's private memory.
type private struct {
	users   int    // running functions that were passed the object
	size    int    // in bytes, from the end of the Create function on
	at      *byte  // address of the first byte; nil if there is none
	content []byte // content when the last of these functions returned
	valid   bool   // content is set
	scope   uint64 // the context's implicit count at that time
	calls   uint64 // the device's call count at that time
	idle    bool   // no driver function was running at that time
}

// start returns the address of the first byte of p, or nil.
func start(p []byte) *byte {
	if len(p) == 0 {
		return nil
	}
	return &p[0]
}

// scope returns the context whose functions may change o without naming it.
func (o *object) scope() *context {
	if o.ctx != nil {
		return o.ctx
	}
	return o.device
}

// beginPrivate starts to track the private memory of a new object.
func (k *Checker) beginPrivate(o *object) {
	o.private.size, o.private.at = len(o.h.Private), start(o.h.Private)
	k.saveContent(o)
}

// comparePrivate compares the private memory of o with its content when the
// last function that got o returned. It then counts fr as a user.
func (k *Checker) comparePrivate(fr *frame, o *object) {
	k.comparePrivateOnly(fr, o)
	o.private.users++
}

// comparePrivateOnly only compares. It does not read memory that may be in use.
func (k *Checker) comparePrivateOnly(fr *frame, o *object) {
	p := &o.private
	k.checkMoved(fr, o)
	now := o.h.Private
	if p.users == 0 && p.valid && len(now) == len(p.content) && o.scope().inside == 0 && !bytes.Equal(now, p.content) {
		i := 0
		for now[i] == p.content[i] {
			i++
		}
		switch {
		case p.idle && p.calls == o.device.calls-1 && o.device.running == 1:
			k.fail(fr, "private-runtime", "byte %d of the private memory of %v went from %#02x to %#02x and no function of the driver ran", i, o, p.content[i], now[i])
		case p.scope == o.scope().implicit:
			k.fail(fr, "private-outside", "byte %d of the private memory of %v went from %#02x to %#02x outside of its functions", i, o, p.content[i], now[i])
		}
	}
}

// maxRetired bounds the most recently retired lists that are compared when a
// function that may change all objects of the device begins.
const maxRetired = 16

// compareRetired compares retired lists before the driver may change them: the
// runtime caused any difference.
func (k *Checker) compareRetired(fr *frame) {
	all := fr.ctx.retired
	for _, o := range all[max(0, len(all)-maxRetired):] {
		if o.private.users == 0 && o.alive() {
			k.comparePrivateOnly(fr, o)
			fr.retired = append(fr.retired, o)
		}
	}
}

// saveRetired saves the content that the driver left in them.
func (k *Checker) saveRetired(fr *frame) {
	for _, o := range fr.retired {
		if o.private.users == 0 && o.alive() {
			k.saveContent(o)
		}
	}
	fr.retired = fr.retired[:0]
}

// setRetired adds a list to the retired lists of its device, or removes it.
func (o *object) setRetired(retired bool) {
	at := slices.Index(o.device.retired, o)
	switch {
	case retired && at < 0:
		o.device.retired = append(o.device.retired, o)
	case !retired && at >= 0:
		o.device.retired = slices.Delete(o.device.retired, at, at+1)
	}
}

// checkMoved checks that the private memory of o has its original address and
// size.
func (k *Checker) checkMoved(fr *frame, o *object) {
	p, now := &o.private, o.h.Private
	if len(now) == p.size && start(now) == p.at {
		return
	}
	if len(now) != p.size {
		k.fail(fr, "private-moved", "the private memory of %v has %d bytes, want %d as at its creation", o, len(now), p.size)
	} else {
		k.fail(fr, "private-moved", "the private memory of %v has moved since its creation", o)
	}
	p.size, p.at, p.valid = len(now), start(now), false
}

// endPrivate ends the use of the objects of fr.
func (k *Checker) endPrivate(fr *frame) {
	noteLast(fr)
	for _, o := range fr.objects {
		o.private.users--
		if o.private.users == 0 && o.alive() {
			k.checkMoved(fr, o)
			k.saveContent(o)
		}
	}
	fr.objects = fr.objects[:0]
}

// noteLast notes that fr was the last function that got its objects.
func noteLast(fr *frame) {
	if strings.HasPrefix(fr.f.Name, "pfnCalc") {
		return
	}
	note := func(o *object, wrote bool) {
		if o != nil && (fr.created == nil || o == fr.created) { // a creation makes nothing else ready
			o.note(use{fr.f, fr.call, wrote})
		}
	}
	if o := fr.created; o != nil {
		note(o, !o.blank)
	}
	for _, o := range fr.objects {
		note(o, o.private.users == 1 && o.private.valid && !bytes.Equal(o.h.Private, o.private.content))
		if fr.destroyed != o { // a close changes nothing
			note(o.of, false)
		}
	}
}

// saveContent saves the content of the private memory of o.
func (k *Checker) saveContent(o *object) {
	p := &o.private
	if p.valid = o.scope().inside == 0; !p.valid {
		return
	}
	p.content = append(p.content[:0], o.h.Private...)
	p.scope = o.scope().implicit
	p.calls = o.device.calls
	p.idle = o.device.running == 0
}

// maxAnswers bounds the sizes answered by Calc functions and not yet used by a
// Create function. The runtime may give up between the two calls.
const maxAnswers = 64

// recordSize records the answer of a Calc function. If the driver is not
// free-threaded, all calls are on one thread and those of several creations can
// interleave.
func (k *Checker) recordSize(fr *frame, create string, size int) {
	th := fr.th
	answers := append(th.sizes[create], answer{size, fr.call})
	th.sizes[create] = answers[max(0, len(answers)-maxAnswers):]
}

// answered returns the size that the driver returned for the Create function of
// fr, n if that is one of several answers, or -1 if it was not asked. It returns the
// call too.
func answered(fr *frame, n int) answer {
	answers := fr.th.sizes[fr.f.Name]
	if len(answers) == 0 {
		return answer{size: -1}
	}
	at := max(0, slices.IndexFunc(answers, func(a answer) bool { return a.size == n }))
	want := answers[at]
	if fr.th.sizes[fr.f.Name] = slices.Delete(answers, at, at+1); len(answers) == 1 {
		delete(fr.th.sizes, fr.f.Name)
	}
	return want
}

// checkSize checks that an object has private memory of the size that the
// driver asked for.
func (k *Checker) checkSize(fr *frame, o *object) {
	n := len(o.h.Private)
	want := answer{-1, 0}
	if o.of != nil {
		want = answer{o.of.size, o.of.sizeCall}
	} else {
		want = answered(fr, n)
	}
	o.calc = want.call
	k.checkMemory(fr, o, o.h.Private, want.size)
}

// checkMemory checks the private memory of a new object or context.
func (k *Checker) checkMemory(fr *frame, of any, memory []byte, want int) {
	n := len(memory)
	switch {
	case want < 0:
		k.fail(fr, "size-private", "%v has %d bytes of private memory, but the driver was not asked", of, n)
	case n != want:
		k.fail(fr, "size-private", "%v has %d bytes of private memory, want %d", of, n, want)
	}
	if cap(memory) > n {
		k.fail(fr, "private-spare", "%v has %d bytes of private memory in room for %d", of, n, cap(memory))
	}
}

// checkContextMoved checks that the private memory of a deferred context has its
// original address and size.
func (k *Checker) checkContextMoved(fr *frame, c *context) {
	now := c.root.Private
	if len(now) != c.size {
		k.fail(fr, "private-moved", "the private memory of %v has %d bytes, want %d as at its creation", c, len(now), c.size)
	} else if start(now) != c.at {
		k.fail(fr, "private-moved", "the private memory of %v has moved since its creation", c)
	}
}
