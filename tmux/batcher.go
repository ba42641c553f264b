package tmux

import (
	"context"
	"sync"
)

// together answers questions to a server. One run of tmux is under way at a time; what is asked meanwhile waits
// for its end and goes into one run after it. So each answer is younger than its question, and the busier a
// machine is the fewer processes it starts for each question.
type together[Q, A any] struct {
	// answer asks all questions at once and answers each of them.
	answer func(ctx context.Context, questions []*question[Q, A])

	mu      sync.Mutex
	busy    bool
	waiting []*question[Q, A]
}

// question is what one caller asks. Whoever answers it sets result or err.
type question[Q, A any] struct {
	ctx    context.Context
	of     Q
	result A
	err    error
	done   chan struct{} // closed when it is answered
}

// ask waits for the answer, or for the end of ctx.
func (t *together[Q, A]) ask(ctx context.Context, of Q) (result A, err error) {
	q := &question[Q, A]{ctx: ctx, of: of, done: make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, q)
	if !t.busy {
		t.busy = true
		go t.work()
	}
	t.mu.Unlock()
	select {
	case <-q.done:
		return q.result, q.err
	case <-ctx.Done():
		return result, context.Cause(ctx)
	}
}

// work answers until nobody waits. No caller's context is the run's: the end of one must not take the answers of
// the others.
func (t *together[Q, A]) work() {
	for {
		t.mu.Lock()
		var now []*question[Q, A]
		for _, q := range t.waiting {
			if q.ctx.Err() == nil { // else nobody waits for it any more
				now = append(now, q)
			}
		}
		t.waiting, t.busy = nil, len(now) > 0
		t.mu.Unlock()
		if len(now) == 0 {
			return
		}
		t.answer(context.Background(), now)
		for _, q := range now {
			close(q.done)
		}
	}
}
