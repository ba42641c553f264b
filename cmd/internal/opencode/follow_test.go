package opencode

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/understudyd/understudy/cmd/internal/opencode/opencodetest"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/tmux/warden/wardentest"
)

// rest lets time pass in the bubble.
func rest(d time.Duration) { <-time.After(d) }

// stage is a machine with one running OpenCode, in a bubble, and a link to its server.
type stage struct {
	*opencodetest.Machine
	link engine.Link

	mu     sync.Mutex
	events []string
	keys   []string
	before func(req *http.Request) // called before each request; may be nil
}

// RoundTrip implements [http.RoundTripper].
func (s *stage) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	before := s.before
	s.mu.Unlock()
	if before != nil {
		before(req)
	}
	if req.Context().Err() != nil {
		return nil, context.Cause(req.Context())
	}
	return s.Machine.RoundTrip(req)
}

// onStage runs a test in a bubble.
func onStage(t *testing.T, test func(t *testing.T, s *stage)) {
	t.Helper()
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{Machine: opencodetest.New()}
		s.link = engine.Link{AgentID: 7, Name: "ada", Transcript: filepath.Join(dir, "transcript.jsonl"),
			Server: runtimes.Server{Port: 4711, Password: "secret"}}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.Run(ctx, []string{"opencode", "--port", "4711"}, []string{"OPENCODE_SERVER_PASSWORD=secret"})
		}()
		synctest.Wait()
		test(t, s)
		cancel()
		<-ended
	})
}

func (s *stage) server() *server {
	return newServer(s.link, "http://127.0.0.1:4711", &http.Client{Transport: s})
}

// atRequests has before called at each request from now on.
func (s *stage) atRequests(before func(*http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

// follow follows the server until stop is called, which returns why it ended.
func (s *stage) follow() (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.server().Follow(ctx, s.tell) }()
	return func() error { cancel(); return <-done }
}

func (s *stage) tell(r runtimes.Report) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events, s.keys = append(s.events, r.Event), append(s.keys, r.Key)
	return nil
}

// told are the events so far.
func (s *stage) told() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// sessionID is the id of the only session.
func (s *stage) sessionID(t *testing.T) string {
	t.Helper()
	return value(s.server().theSession(t.Context()))(t)
}

// TestFollowMakesOneSession: a daemon that is killed after it made the session finds it again by its title.
func TestFollowMakesOneSession(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		id := s.sessionID(t) // made, and noted by nobody
		stop := s.follow()
		rest(time.Second)
		equal(t, "reports", s.told(), []string{"SessionStart"})
		wantErr(t, "Follow", stop(), context.Canceled)
		if titles := s.Titles(); len(titles) != 1 || !strings.HasPrefix(titles[0], "ada (understudy 7-") || strings.Contains(titles[0], "secret") || s.keys[0] != "session "+id {
			t.Errorf("sessions %q, key %q", titles, s.keys[0])
		}
	})
}

// TestFollowLooksTwice: a turn ends between the two requests of one look, so that its answer looks unfinished in an idle session. It did not
// end without a reason, and the next look finds how it ended. No look may have seen the turn before, as when the server was silent.
func TestFollowLooksTwice(t *testing.T) {
	for what, seen := range map[string]bool{"a long turn": true, "no look saw it busy": false} {
		t.Run(what, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				hold := make(chan struct{})
				s.Model = func(string) opencodetest.Turn { return opencodetest.Turn{Hold: hold, Text: "Done."} }
				stop := s.follow()
				rest(time.Minute)
				id := s.sessionID(t)
				var once sync.Once
				ends := func(req *http.Request) {
					if req.URL.Path == "/session/status" {
						once.Do(func() { close(hold); rest(time.Second) })
					}
				}
				if seen {
					s.Type(id, "long work")
					rest(time.Minute)
					s.atRequests(ends)
				} else {
					s.atRequests(func(req *http.Request) {
						if strings.HasSuffix(req.URL.Path, "/message") {
							rest(9 * time.Second) // the turn begins meanwhile
						}
						ends(req)
					})
					s.Type(id, "long work")
				}
				rest(2 * time.Minute)
				equal(t, "reports", s.told(), []string{"SessionStart", "UserPromptSubmit", "Stop"})
				_ = stop()
			})
		})
	}
}

// TestFollowEndsWithItsReport: what was not taken is reported by the next Follow, with the same key.
func TestFollowEndsWithItsReport(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		refused := errors.New("refused")
		wantErr(t, "Follow", s.server().Follow(t.Context(), func(runtimes.Report) error { return refused }), refused)
		stop := s.follow()
		rest(time.Second)
		equal(t, "reports", s.told(), []string{"SessionStart"})
		_ = stop()
	})
}

// TestFollowKeepsTheConversation: the file with the conversation has what was said when the server is gone, and what a long
// conversation began with.
func TestFollowKeepsTheConversation(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		stop := s.follow()
		rest(time.Second)
		id := s.sessionID(t)
		for range recent {
			s.Type(id, "work")
			rest(time.Second)
		}
		s.Type(id, "the last word")
		rest(time.Second)
		_ = stop()
		b := value(os.ReadFile(s.link.Transcript))(t)
		if n := strings.Count(string(b), `"role":"user"`); n != recent+1 || !strings.Contains(string(b), "the last word") || strings.Count(string(b), "\n") != 2*n {
			t.Errorf("%d prompts in\n%s", n, b)
		}
		equal(t, "reports", len(s.told()), 1+2*(recent+1))
	})
}

// TestMirrorLeavesOutWhatWasReverted: what a person has taken back is not in the conversation, before and after the next prompt, and
// for a daemon that begins to follow in between.
func TestMirrorLeavesOutWhatWasReverted(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		stop := s.follow()
		rest(time.Second)
		id := s.sessionID(t)
		want := func(when string, prompts ...string) {
			t.Helper()
			rest(2 * time.Second)
			b := value(os.ReadFile(s.link.Transcript))(t)
			equal(t, when+": answers", strings.Count(string(b), `"role":"assistant"`), len(prompts))
			for _, text := range []string{"first", "second", "third"} {
				if strings.Contains(string(b), text) != slices.Contains(prompts, text) {
					t.Errorf("%s: want %q in\n%s", when, prompts, b)
				}
			}
		}
		s.Type(id, "first")
		rest(time.Second)
		s.Type(id, "second")
		want("before", "first", "second")
		s.Revert(id, 1)
		want("taken back", "first")
		_ = stop()
		stop = s.follow()
		want("followed anew", "first")
		s.Type(id, "third")
		want("on from there", "first", "third")
		_ = stop()
	})
}

// TestSendSubmitsOnce: a text that the session has is not submitted again, whoever asks for it.
func TestSendSubmitsOnce(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		since := time.Now()
		for range 3 {
			must(t, s.server().Send(t.Context(), "go on", since))
			rest(10 * time.Second)
		}
		id := s.sessionID(t)
		equal(t, "prompts", s.Prompts(id), []string{"go on"})
		must(t, s.server().Send(t.Context(), "go on", time.Now()))
		rest(time.Second)
		equal(t, "prompts …: the same text later is another one", s.Prompts(id), []string{"go on", "go on"})
		must(t, s.server().Send(t.Context(), "go on", time.Time{}))
		rest(time.Second)
		if got := s.Prompts(id); len(got) != 2 {
			t.Errorf("prompts %q: whoever does not know the time finds it at any time", got)
		}
	})
}

// TestExitYieldsToWork: a prompt that nobody has reported yet keeps the program from its exit, if the caller asks for that.
func TestExitYieldsToWork(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		must(t, s.server().Send(t.Context(), "build the shed", time.Now()))
		s.link.Session = s.sessionID(t)
		rest(10 * time.Second)
		idle := time.Now()
		rest(time.Second)
		must(t, s.server().Send(t.Context(), "paint it", time.Now()))
		rest(10 * time.Second)
		wantErr(t, "exit after new work", s.server().Exit(t.Context(), &runtimes.Rest{Since: idle}), daemon.ErrGivenWork)
		if err := s.server().Exit(t.Context(), &runtimes.Rest{Since: time.Now()}); err != nil {
			t.Errorf("exit of an agent without new work: %v", err)
		}
	})
}

// TestAskLeavesNothing: the copy is deleted, also one that a killed daemon has left, and also if the question is abandoned.
func TestAskLeavesNothing(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.link.Session = s.sessionID(t)
		left := s.server()
		must(t, left.call(t.Context(), http.MethodPost, "/session", map[string]string{"title": left.copyTitle()}, nil))
		equal(t, "the answer", value(s.server().Ask(t.Context(), "what?"))(t), []string{"OK"})
		ctx, cancel := context.WithCancel(t.Context())
		s.atRequests(func(req *http.Request) {
			if strings.HasSuffix(req.URL.Path, "/message") && req.Method == http.MethodPost {
				cancel()
			}
		})
		wardentest.Failed(s.server().Ask(ctx, "what?"))(t, "cancelled", context.Canceled)
		if titles := s.Titles(); len(titles) != 1 {
			t.Errorf("sessions %q", titles)
		}
	})
}

// TestErrorsHaveNoSecret: an error names the request, and neither the password nor the text.
func TestErrorsHaveNoSecret(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.link.Server.Password = "wrong-secret"
		err := s.server().Send(t.Context(), "a private text", time.Now())
		if err == nil || !strings.Contains(err.Error(), "401") || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "private") {
			t.Errorf("error %v", err)
		}
	})
}

// TestFollowDoesNotWaitForALostAnswer: OpenCode never answers a request that arrives while it starts. The next one is soon.
func TestFollowDoesNotWaitForALostAnswer(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		lost := 2
		s.atRequests(func(req *http.Request) {
			if req.URL.Path == "/global/health" && lost > 0 {
				lost--
				<-req.Context().Done()
			}
		})
		stop := s.follow()
		rest(4 * time.Second)
		if len(s.told()) == 0 {
			t.Error("nothing is reported after 4 s")
		}
		_ = stop() // its error is the cancel
	})
}

// TestFollowGivesUpASilentServer: a server that never answers fails Follow within the limit of an answer.
func TestFollowGivesUpASilentServer(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.atRequests(func(req *http.Request) { <-req.Context().Done() })
		began := time.Now()
		err := s.server().Follow(t.Context(), s.tell)
		if took := time.Since(began); !errors.Is(err, errNoAnswer) || took > answerLimit {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// TestSlowScreenHearsItsSession: a screen that comes up slowly misses the session that it is to show, and a person's prompt would begin
// another one. A new agent's screen is told again and again in its first minutes; later a person may have gone elsewhere in the pane.
func TestSlowScreenHearsItsSession(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		stop := s.follow()
		told := func(d time.Duration) (times int) {
			before := len(s.Requests())
			rest(d)
			for _, request := range s.Requests()[before:] {
				if strings.Contains(request, "/tui/select-session") {
					times++
				}
			}
			return times
		}
		if early, late := told(comesUp), told(comesUp); early < int(comesUp/showsEvery) || late > 1 {
			t.Errorf("told %d times, and %d times later", early, late)
		}
		_ = stop()
		s.link.Session = s.sessionID(t)
		stop = s.follow()
		equal(t, "an agent that is followed again is shown … times", told(comesUp), 0)
		_ = stop()
	})
}

// TestFollowEndsAWait: OpenCode would wait in its turn for the end of a usage limit. The turn is aborted once, after its end was reported as a
// failure. A request that OpenCode sends again soon is trouble, and nobody aborts its turn.
func TestFollowEndsAWait(t *testing.T) {
	for name, want := range map[string]struct {
		turn   opencodetest.Turn
		aborts int
		events []string
	}{
		"limit":   {opencodetest.Turn{Retry: time.Minute, Why: "Monthly quota exceeded"}, 1, []string{"SessionStart", "UserPromptSubmit", "StopFailure", "Interrupt"}},
		"trouble": {opencodetest.Turn{Refused: time.Minute, Text: "Done."}, 0, []string{"SessionStart", "UserPromptSubmit", "RetryStarted", "Stop"}},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.Model = func(string) opencodetest.Turn { return want.turn }
				id := s.sessionID(t)
				stop := s.follow()
				rest(time.Second)
				s.Type(id, "go on")
				rest(5 * time.Minute)
				aborts := 0
				for _, r := range s.Requests() {
					if strings.HasSuffix(r, "/abort") {
						aborts++
					}
				}
				if got := s.told(); aborts != want.aborts || !slices.Equal(got, want.events) {
					t.Errorf("%d aborts, reports %q", aborts, got)
				}
				_ = stop()
			})
		})
	}
}
