package serve

import (
	"context"
	"errors"
	"sync"
)

// A Station is a board and where hosts find it.
type Station struct {
	Board    *Board
	Listener Listener
}

// All serves all boards until ctx is done or one of them fails, which ends the others,
// and returns what failed. A ctx that is cancelled is no failure.
func All(ctx context.Context, stations []Station) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(stations))
	var wg sync.WaitGroup
	for i, s := range stations {
		wg.Go(func() {
			defer cancel() // one that ends, ends all
			if err := s.Listener.Serve(ctx, s.Board); !errors.Is(err, context.Canceled) {
				errs[i] = err
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
