package bustest

import (
	"errors"
	"fmt"
)

// messageTimeout is how long the suite waits for a message, in seconds.
const messageTimeout = 2

// awaitMessage waits until the host has more than n messages.
func awaitMessage(f Fixture, n int) error {
	deadline := f.Clock.Now() + messageTimeout*f.Clock.Hz()
	for len(f.Host.Messages()) <= n {
		if f.Clock.Now() >= deadline {
			return errors.New("no message arrived")
		}
		if _, err := f.Clock.Wait(deadline); err != nil {
			return err
		}
	}
	return nil
}

// checkMessage checks memory at the time the message arrives.
func checkMessage(f Fixture) error {
	if err := Enumerate(f.Link); err != nil {
		return err
	}
	const off = 256
	var got []byte
	f.Host.Probe = func() { got = append([]byte(nil), f.Host.Mem[off:off+128]...) }
	want, err := f.Announce(f.Link, f.Host.Base+off)
	if err != nil {
		return err
	}
	if err := awaitMessage(f, 0); err != nil {
		return err
	}
	m := f.Host.Messages()[0]
	if m.Addr != MessageBase || len(m.Data) != 4 || le32(m.Data) != 0 {
		return fmt.Errorf("message %x at %#x, want a dword of 0 at %#x", m.Data, m.Addr, MessageBase)
	}
	return wantBytes("memory when the message arrives", got[:len(want)], want)
}

// checkWait checks that a message ends a wait: Wait must report the event long
// before its deadline.
func checkWait(f Fixture) error {
	if err := Enumerate(f.Link); err != nil {
		return err
	}
	if _, err := f.Announce(f.Link, f.Host.Base); err != nil {
		return err
	}
	start := f.Clock.Now()
	deadline := start + messageTimeout*f.Clock.Hz()
	for event := false; !event; {
		var err error
		if event, err = f.Clock.Wait(deadline); err != nil {
			return err
		}
		if f.Clock.Now() >= deadline {
			return errors.New("the wait lasted until its deadline")
		}
	}
	if len(f.Host.Messages()) != 1 {
		return fmt.Errorf("the wait reports an event, but %d messages arrived", len(f.Host.Messages()))
	}
	return nil
}

func checkDeadline(f Fixture) error {
	if err := Enumerate(f.Link); err != nil {
		return err
	}
	deadline := f.Clock.Now() + f.Clock.Hz()/100
	for f.Clock.Now() < deadline {
		event, err := f.Clock.Wait(deadline)
		if event || err != nil {
			return fmt.Errorf("event %v, error %v without a message", event, err)
		}
	}
	if event, err := f.Clock.Wait(deadline); event || err != nil {
		return fmt.Errorf("after the deadline: event %v, error %v", event, err)
	}
	return nil
}

func checkTime(f Fixture) error {
	if f.Clock.Hz() == 0 {
		return errors.New("0 ticks in a second")
	}
	last := f.Clock.Now()
	for range 10 {
		if _, err := f.Link.ReadConfig(0); err != nil {
			return err
		}
		now := f.Clock.Now()
		if now <= last {
			return fmt.Errorf("time %d after a read that began at %d", now, last)
		}
		last = now
	}
	return nil
}
