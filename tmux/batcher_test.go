package tmux

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

// TestBatcher: questions that come during a run share the next run; the run that began before them does not
// answer them.
func TestBatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs [][]int
		goOn := make(chan struct{})
		all := batcher[int, int]{answer: func(_ context.Context, questions []*question[int, int]) {
			var of []int
			for _, q := range questions {
				of, q.result = append(of, q.of), 10*q.of
				if q.of == 4 {
					q.err = errors.New("no answer to 4")
				}
			}
			slices.Sort(of)
			runs = append(runs, of)
			<-goOn
		}}
		ask := func(ctx context.Context, of int) {
			result, err := all.ask(ctx, of)
			switch {
			case of == 3 && errors.Is(err, context.Canceled): // its caller did not wait
			case of == 4 && err != nil && err.Error() == "no answer to 4":
			case of != 3 && of != 4 && result == 10*of && err == nil:
			default:
				t.Errorf("question %d: %d, %v", of, result, err)
			}
		}
		impatient, leave := context.WithCancel(t.Context())
		go ask(t.Context(), 1)
		synctest.Wait()
		go ask(t.Context(), 2)
		go ask(impatient, 3)
		go ask(t.Context(), 4)
		go ask(t.Context(), 5)
		synctest.Wait()
		leave()
		synctest.Wait()
		close(goOn)
		synctest.Wait()
		if want := [][]int{{1}, {2, 4, 5}}; !slices.EqualFunc(runs, want, slices.Equal) {
			t.Errorf("runs %v, want %v", runs, want)
		}
		go ask(t.Context(), 6) // works again after it had nothing to do
		synctest.Wait()
		if len(runs) != 3 || all.busy {
			t.Errorf("runs %v, busy: %v", runs, all.busy)
		}
	})
}
