package verifier

import (
	"bytes"
	"slices"
)

// private is what is known of an object's private memory.
type private struct {
	users  int    // functions that have the object now
	size   int    // bytes, from the end of the Create function on
	at     *byte  // where it starts; nil if it has no bytes
	kept   []byte // its content when the last of them ended
	valid  bool   // kept is
	scope  uint64 // the context's implicit count then
	calls  uint64 // the device's count of functions then
	silent bool   // and none of them was running
}

// start returns where the memory starts.
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

// bear notes where the private memory of an object is that has been made.
func (k *Checker) bear(o *object) {
	o.private.size, o.private.at = len(o.h.Private), start(o.h.Private)
	k.keep(o)
}

// comparePrivate holds the private memory of o against what it was when the
// last function that got it ended, and begins its use.
func (k *Checker) comparePrivate(fr *frame, o *object) {
	k.comparePrivateOnly(fr, o)
	o.private.users++
}

// comparePrivateOnly only compares. Memory that may be in use is not read.
func (k *Checker) comparePrivateOnly(fr *frame, o *object) {
	p := &o.private
	k.checkMoved(fr, o)
	now := o.h.Private
	if p.users == 0 && p.valid && len(now) == len(p.kept) && o.scope().inside == 0 && !bytes.Equal(now, p.kept) {
		i := 0
		for now[i] == p.kept[i] {
			i++
		}
		switch {
		case p.silent && p.calls == o.device.calls-1 && o.device.running == 1:
			k.fail(fr, "private-runtime", "byte %d of the private memory of %v went from %#02x to %#02x and no function of the driver ran", i, o, p.kept[i], now[i])
		case p.scope == o.scope().implicit:
			k.fail(fr, "private-outside", "byte %d of the private memory of %v went from %#02x to %#02x outside of its functions", i, o, p.kept[i], now[i])
		}
	}
}

// maxResting is how many of the lists that were retired last are looked at when
// a function begins that may change all of the device.
const maxResting = 16

// beginResting compares lists that are retired before the driver may change
// them: what differs by then, the runtime did.
func (k *Checker) beginResting(fr *frame) {
	all := fr.ctx.resting
	for _, o := range all[max(0, len(all)-maxResting):] {
		if o.private.users == 0 && o.alive() {
			k.comparePrivateOnly(fr, o)
			fr.resting = append(fr.resting, o)
		}
	}
}

// endResting remembers what the driver has left in them.
func (k *Checker) endResting(fr *frame) {
	for _, o := range fr.resting {
		if o.private.users == 0 && o.alive() {
			k.keep(o)
		}
	}
	fr.resting = fr.resting[:0]
}

// rest notes that a list rests, or does not any more.
func (o *object) rest(rests bool) {
	at := slices.Index(o.device.resting, o)
	switch {
	case rests && at < 0:
		o.device.resting = append(o.device.resting, o)
	case !rests && at >= 0:
		o.device.resting = slices.Delete(o.device.resting, at, at+1)
	}
}

// checkMoved fails if the private memory of o is not where and what it was.
func (k *Checker) checkMoved(fr *frame, o *object) {
	p, now := &o.private, o.h.Private
	if len(now) == p.size && start(now) == p.at {
		return
	}
	if len(now) != p.size {
		k.fail(fr, "private-moved", "the private memory of %v has %d bytes, %d at its creation", o, len(now), p.size)
	} else {
		k.fail(fr, "private-moved", "the private memory of %v is not that of its creation", o)
	}
	p.size, p.at, p.valid = len(now), start(now), false
}

// endPrivate ends the use of the objects of fr.
func (k *Checker) endPrivate(fr *frame) {
	for _, o := range fr.objects {
		o.private.users--
		if o.private.users == 0 && o.alive() {
			k.checkMoved(fr, o)
			k.keep(o)
		}
	}
	fr.objects = fr.objects[:0]
}

// keep remembers the content of the private memory of o.
func (k *Checker) keep(o *object) {
	p := &o.private
	if p.valid = o.scope().inside == 0; !p.valid {
		return
	}
	p.kept = append(p.kept[:0], o.h.Private...)
	p.scope = o.scope().implicit
	p.calls = o.device.calls
	p.silent = o.device.running == 0
}

// maxAnswers is how many sizes may be asked for that nothing was created with: a
// runtime that gives up between the two calls leaves one.
const maxAnswers = 64

// answered notes the answer of a Calc function. The calls of a driver that is not
// free-threaded are all on one thread, and those of several creations can mix.
func (k *Checker) answered(th *thread, create string, size int) {
	answers := append(th.sizes[create], size)
	th.sizes[create] = answers[max(0, len(answers)-maxAnswers):]
}

// checkSize fails if an object gets private memory of another size than the
// driver has asked for.
func (k *Checker) checkSize(fr *frame, o *object) {
	n := len(o.h.Private)
	want := -1
	if o.of != nil {
		want = o.of.size
	} else if answers := fr.th.sizes[fr.f.Name]; len(answers) > 0 {
		at := max(0, slices.Index(answers, n))
		want = answers[at]
		fr.th.sizes[fr.f.Name] = slices.Delete(answers, at, at+1)
	}
	switch {
	case want < 0:
		k.fail(fr, "size-private", "%v has %d bytes of private memory, but the driver was not asked", o, n)
	case n != want:
		k.fail(fr, "size-private", "%v has %d bytes of private memory, want %d", o, n, want)
	}
}
