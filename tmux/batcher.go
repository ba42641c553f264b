package tmux

import (
	"context"
	"sync"
)

// batcher answers questions in batches, and works on one batch at a time. A question that comes while a batch is being
// answered waits for the next batch. So no answer is older than its question, and a busy machine starts fewer processes
// per question.
type batcher[Q, A any] struct {
	// answer answers all questions of one batch.
	answer func(ctx context.Context, questions []*question[Q, A])

	mu      sync.Mutex
	busy    bool
	waiting []*question[Q, A]
}

// question is the question of one caller. answer sets result or err.
type question[Q, A any] struct {
	ctx    context.Context
	of     Q
	result A
	err    error
	done   chan struct{} // closed when the question is answered
}

// ask waits for the answer, or for the end of ctx.
func (t *batcher[Q, A]) ask(ctx context.Context, of Q) (result A, err error) {
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

// work answers batches until no caller waits. It does not use a caller's context, because the end of one caller's
// context must not cancel the answers for the other callers.
func (t *batcher[Q, A]) work() {
	for {
		t.mu.Lock()
		var now []*question[Q, A]
		for _, q := range t.waiting {
			if q.ctx.Err() == nil { // otherwise its caller no longer waits
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
