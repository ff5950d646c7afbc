package serve

import (
	"context"
	"errors"
	"sync"
)

// A Station is a board and its listener. Board is nil with a listener of Raw.
type Station struct {
	Board    *Board
	Listener Listener
}

// All serves all boards until ctx is done or one of them fails, which ends the
// others. It returns the error of the first of them that has one. Cancelling ctx is not an error.
func All(ctx context.Context, stations []Station) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(stations))
	var wg sync.WaitGroup
	for i, s := range stations {
		wg.Go(func() {
			defer cancel() // when one ends, all end
			stop := s.discover(ctx)
			defer stop()
			if err := s.Listener.Serve(ctx, s.Board); !errors.Is(err, context.Canceled) {
				errs[i] = err
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
