package api

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/time/rate"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/words"
)

// load is a kind of what is sent to the daemon and has a budget for each sender.
type load string

const (
	loadHooks       load = "hooks"
	loadRequests    load = "requests"    // by which an agent changes something: its handoff, messages
	loadContext     load = "contexts"    // an agent's reports of how full its context is
	loadConnections load = "connections" // limited in number, not by time
)

// budget is what one sender may send in the long run, a second, and at once.
type budget struct {
	rows, bytes         rate.Limit
	rowsOnce, bytesOnce int
}

// budgets are the budgets of senders. An agent at work sends a few hooks a second, of some KiB each, and one message in minutes. An agent's bytes at
// once are more than those of a document of the largest size.
type budgets struct {
	agent    map[load]budget
	stranger budget // of the hooks of one process that is known as no agent's, and of what it starts
	all      budget // of the hooks of all those together

	// How many connections one agent may have to a socket, or a process that is known as no agent's to that of hooks; how many of one address,
	// and of all, may be open that have shown neither token nor login; and how many may be open to the socket of hooks, and to the others.
	ofSender, ofAddress, ofStrangers, ofHooks, ofOthers int
}

func defaultBudgets() budgets {
	files := syscall.Rlimit{Cur: 1024}
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) // Go has raised it to the hardest that it may
	half := int(min(files.Cur, 1<<16)) / 2
	return budgets{
		agent: map[load]budget{
			loadHooks:    {100, 4 << 20, 2000, 64 << 20},
			loadRequests: {0.5, 64 << 10, 30, 2 << 20},
			loadContext:  {10, 64 << 10, 100, 2 << 20},
		},
		stranger: budget{20, 512 << 10, 500, 16 << 20},
		all:      budget{200, 1 << 20, 5000, 32 << 20},
		ofSender: 64, ofAddress: 64, ofStrangers: 256, ofOthers: half, ofHooks: half / 2,
	}
}

// floods keeps one sender from using up what all need: rows and disk of the database, and the descriptors of the daemon. What an agent sends
// beyond its budget is refused with 429, and a hook's command then keeps its hook in the spool; a hook of a stranger is not taken at all. The
// operator is told once a minute. Safe for concurrent use.
type floods struct {
	budgets budgets
	server  *Server

	mu    sync.Mutex
	spent map[spender]*account
	seats map[net.Conn]*seat
	told  map[load]*told
}

// spender is who has a budget: an agent, or a process that is known as no agent's; neither: all those together.
type spender struct {
	load  load
	agent int64
	pid   int
}

func (s spender) String() string {
	if s.agent != 0 {
		return fmt.Sprintf("agent %d", s.agent)
	}
	return fmt.Sprintf("process %d, which is known as no agent's", s.pid)
}

type account struct{ rows, bytes *rate.Limiter }

// told is what the operator has not been told of yet.
type told struct {
	at      time.Time
	refused int
}

// maxSpenders is how many accounts are kept. Those that have all of their budget are dropped beyond.
const maxSpenders = 1000

var (
	errTooMany  = daemon.Errorf(daemon.KindTooMany, codeTooMany, "This agent sends more than it may: wait a minute, and send less")
	errStranger = daemon.Errorf(daemon.KindForbidden, codeTooMany, "More hooks than are taken come from what is known as no agent's")
)

func newFloods(s *Server) *floods {
	return &floods{budgets: defaultBudgets(), server: s, spent: map[spender]*account{}, seats: map[net.Conn]*seat{}, told: map[load]*told{}}
}

// take spends one row, of so many bytes, of a budget, and reports whether there was enough.
func (f *floods) take(who spender, of budget, bytes int) bool {
	now := time.Now()
	f.mu.Lock()
	has := f.spent[who]
	if has == nil {
		f.forget(now)
		has = &account{rate.NewLimiter(of.rows, of.rowsOnce), rate.NewLimiter(of.bytes, of.bytesOnce)}
		f.spent[who] = has
	}
	f.mu.Unlock()
	if has.rows.AllowN(now, 1) && has.bytes.AllowN(now, bytes) {
		return true
	}
	f.refuse(who.load, who.String())
	return false
}

// forget drops accounts if there are too many. The caller holds f.mu.
func (f *floods) forget(now time.Time) {
	if len(f.spent) < maxSpenders {
		return
	}
	for who, has := range f.spent {
		if has.rows.TokensAt(now) >= float64(has.rows.Burst()) && has.bytes.TokensAt(now) >= float64(has.bytes.Burst()) {
			delete(f.spent, who)
		}
	}
}

// refuse counts what was refused, and tells the operator once a minute.
func (f *floods) refuse(what load, from string) {
	f.server.meter.flooded.WithLabelValues(string(what)).Inc()
	f.mu.Lock()
	t := f.told[what]
	if t == nil {
		t = &told{}
		f.told[what] = t
	}
	t.refused++
	n := t.refused
	tell := time.Since(t.at) >= time.Minute
	if tell {
		t.at, t.refused = time.Now(), 0
	}
	f.mu.Unlock()
	if tell { // later than the request, which must not wait for the database
		go f.server.Daemon.Alert(event.Flooded, fmt.Sprintf("More %s than are taken came from %s: %s refused since this was last told, "+
			"the others get their turn. Look at what it does; `understudy agent stop ID` ends an agent.", what, from, words.Count(n, "one")))
	}
}

// ofAgent has an agent pay for a request of its own.
func (f *floods) ofAgent(what load, next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id, err := key[int64](c)
		if err != nil {
			return err
		}
		size := c.Request().ContentLength
		if size < 0 {
			size = maxBody
		}
		if !f.take(spender{load: what, agent: id}, f.budgets.agent[what], int(min(size, maxBody))) {
			return errTooMany
		}
		return next(c)
	}
}

// ofHook has the sender of a hook pay for it: the agent around it, whatever secret it names, or the process that has started it.
func (f *floods) ofHook(ctx context.Context, bytes int) error {
	who := spender{load: loadHooks, pid: noProcess} // over TCP nobody is known
	if s, ok := ctx.Value(seatKey{}).(*seat); ok && s.starter != 0 {
		if who.agent = s.agent; who.agent == 0 {
			who.pid = s.starter
		}
	}
	switch {
	case who.agent != 0 && !f.take(who, f.budgets.agent[loadHooks], bytes):
		return errTooMany
	case who.agent == 0 && (!f.take(who, f.budgets.stranger, bytes) || !f.take(spender{load: loadHooks}, f.budgets.all, bytes)):
		return errStranger
	}
	return nil
}

// seat is one open connection.
type seat struct {
	conn     net.Conn
	hooks    bool   // it is one to the hook socket
	agent    int64  // the agent that has connected over a unix socket; 0: it is known as none
	starter  int    // what has started the process that has connected over a unix socket: each hook is a process of its own; 0: it is not known
	from     string // the process that has connected over a unix socket, or the address over TCP
	stranger bool   // over TCP: who has connected has not shown yet that they may
	begun    time.Time
}

// seatKey is the key in a connection's context of its seat.
type seatKey struct{}

// limit has a server's connections take seats.
func (f *floods) limit(server *http.Server, hooks bool) {
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		ctx = withSender(ctx, conn)
		s := &seat{conn: conn, hooks: hooks, begun: time.Now()}
		if peer := sender(ctx); peer != nil {
			s.from = fmt.Sprintf("process %d", peer.PID)
			if peer.PID != noProcess {
				line := f.server.Daemon.Processes.Ancestry(peer.Process)
				s.agent, s.starter = sight.Holder(ctx, f.server.Daemon.Sight, peer.Process, line), peer.PID
				if len(line) > 1 && line[1] > 1 {
					s.starter = line[1]
				}
			}
		} else if at, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
			s.from, s.stranger = "the address "+at.IP.String(), true
		}
		if over := f.seat(s); over != nil {
			f.refuse(loadConnections, over.from)
			_ = over.conn.Close() // it may have closed by itself
		}
		return context.WithValue(ctx, seatKey{}, s)
	}
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			f.mu.Lock()
			delete(f.seats, conn)
			f.mu.Unlock()
		}
	}
}

// seat gives a connection a seat. If there are too many, it takes one away and returns it. Of connections over TCP that have not shown yet that
// they may it is the oldest, because whoever may shows it at once. Of one sender it is the new one. If all seats are taken, it is the newest of
// whoever has the most.
func (f *floods) seat(s *seat) (over *seat) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seats[s.conn] = s
	alike, sameSender, sameAddress, strangers := 0, 0, 0, 0
	oldest, oldestHere := s, s
	for _, other := range f.seats {
		if other.hooks == s.hooks {
			alike++
		}
		if other.hooks == s.hooks && (s.agent != 0 && other.agent == s.agent || s.agent == 0 && other.from == s.from) {
			sameSender++
		}
		if !other.stranger {
			continue
		}
		strangers++
		if other.begun.Before(oldest.begun) {
			oldest = other
		}
		if other.from == s.from {
			sameAddress++
			if other.begun.Before(oldestHere.begun) {
				oldestHere = other
			}
		}
	}
	most := f.budgets.ofOthers
	if s.hooks {
		most = f.budgets.ofHooks
	}
	switch {
	case s.stranger && sameAddress > f.budgets.ofAddress:
		over = oldestHere
	case s.stranger && strangers > f.budgets.ofStrangers:
		over = oldest
	case (s.agent != 0 || s.hooks) && sameSender > f.budgets.ofSender:
		over = s
	case alike > most:
		over = f.newestOfMost(s.hooks)
	default:
		return nil
	}
	delete(f.seats, over.conn)
	return over
}

// newestOfMost returns the newest connection of whoever has the most. The caller holds f.mu.
func (f *floods) newestOfMost(hooks bool) (newest *seat) {
	count := map[string]int{}
	for _, s := range f.seats {
		if s.hooks == hooks {
			count[s.from]++
		}
	}
	for _, s := range f.seats {
		if s.hooks == hooks && (newest == nil || count[s.from] > count[newest.from] || s.from == newest.from && s.begun.After(newest.begun)) {
			newest = s
		}
	}
	return newest
}

// admitting remembers which connections over TCP have sent what only those may send who have the token or a login.
func (f *floods) admitting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s, ok := r.Context().Value(seatKey{}).(*seat); ok && !openToAll(r) && !takesLink(r) {
			f.mu.Lock()
			s.stranger = false
			f.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}
