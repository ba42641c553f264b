package tmux

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

// TestTogether: what is asked while an answer is under way is answered by one run after it, and not by the one
// that began before it was asked.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs [][]int
		goOn := make(chan struct{})
		all := together[int, int]{answer: func(_ context.Context, questions []*question[int, int]) {
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
			case of == 3 && errors.Is(err, context.Canceled): // it did not wait
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
		go ask(t.Context(), 6) // and again, once there was nothing to do
		synctest.Wait()
		if len(runs) != 3 || all.busy {
			t.Errorf("runs %v, busy: %v", runs, all.busy)
		}
	})
}
