package scriptedtest

import (
	"context"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/understudyd/understudy/cmd/internal/scripted"
	"github.com/understudyd/understudy/daemon/actor"
)

// Main is [scripted.Main] for an agent that follows directives and misbehaves. args are the last part of the program's
// command line.
func Main(args, environ []string, stdin, stdout, stderr *os.File) int {
	self := slices.Clone(os.Args[:len(os.Args)-len(args)])
	if exe, err := os.Executable(); err == nil {
		self[0] = exe
	}
	return scripted.OnSystem(args, environ, stdin, stdout, stderr, func(ctx context.Context, p scripted.Process) int {
		return Run(ctx, p, self...)
	})
}

// Run is [scripted.Run] for such an agent. self is the command line that runs the agent's program, without p.Args.
func Run(ctx context.Context, p scripted.Process, self ...string) int {
	s := &script{process: p, self: self}
	p.Run = s.run
	return scripted.Run(ctx, p, scripted.Script{
		Prepare: s.prepare, Welcome: s.welcome, Recall: s.recall, Begin: s.begin, Answer: s.answer, Stays: s.stays,
		Ignores: s.ignores,
	})
}

// script holds the state by which one agent behaves differently from a well-behaved agent.
type script struct {
	process scripted.Process // the agent's Process, in which the script has replaced nothing
	self    []string
	opt     scripted.Options // set by prepare

	mu   sync.Mutex // guards the field below
	turn behaviours // the misbehaviours with which the turn began
}

func (s *script) prepare(opt *scripted.Options) error {
	s.opt = *opt
	b, err := s.read()
	s.turn = b
	return err
}

// welcome asks the question that Claude Code asks before its first session.
func (s *script) welcome(ctx context.Context, a *scripted.Agent) bool {
	s.begin(a)
	b := s.inTurn()
	return !b.has("trust") || a.Ask(ctx, "trust", actor.Dialog{
		Title: "Accessing workspace:", Detail: a.Dir, Question: "Is this a project you created or one you trust?",
		Choices: []string{"No, exit", "Yes, I trust this folder"},
	}) == 1
}

// begin stores the misbehaviours for the turn, and shows an error in their list.
func (s *script) begin(a *scripted.Agent) {
	b, err := s.read()
	if err != nil {
		a.Print(actor.BlockError, err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = b
}

// inTurn returns the misbehaviours with which the turn began or, in print mode, the misbehaviours at the start.
func (s *script) inTurn() behaviours {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn
}

// now returns the misbehaviours that are in force at this moment.
func (s *script) now() behaviours {
	if s.opt.Print {
		return s.inTurn()
	}
	b, _ := s.read() // begin shows the error
	return b
}

// stays reports whether /exit does nothing.
func (s *script) stays(a *scripted.Agent) bool {
	ignored := s.now().has("ignore-exit")
	if ignored {
		a.Print(actor.BlockUser, "/exit")
	}
	return ignored
}

func (s *script) ignores(sig os.Signal) bool {
	return sig == syscall.SIGTERM && s.now().has("ignore-term")
}

// sleep waits for d, but not longer than until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err()
}
