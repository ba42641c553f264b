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

// budgets are the budgets of one agent, and of all together that are known as no agent's. An agent at work sends a few hooks a second, of some
// KiB each, and one message in minutes. An agent's bytes at once are more than those of a document of the largest size.
type budgets struct {
	agent   map[load]budget
	unknown map[load]budget
	// connections
	ofProcess, ofAddress, ofStrangers, ofHooks, ofOthers int
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
		unknown:   map[load]budget{loadHooks: {20, 512 << 10, 500, 16 << 20}},
		ofProcess: 64, ofAddress: 64, ofStrangers: 256, ofOthers: half, ofHooks: half / 2,
	}
}

// floods keeps one sender from using up what all need: rows and disk of the database, and the descriptors of the daemon. What is over a budget
// is refused with 429, and a hook's command then keeps its hook in the spool. The operator is told once a minute. Safe for concurrent use.
type floods struct {
	budgets budgets
	server  *Server

	mu    sync.Mutex
	spent map[spender]*account
	seats map[net.Conn]*seat
	told  map[load]*told
}

// spender is who has a budget; agent 0: all that are known as no agent's.
type spender struct {
	load  load
	agent int64
}

type account struct{ rows, bytes *rate.Limiter }

// told is what the operator has not been told of yet.
type told struct {
	at      time.Time
	refused int
}

// maxSpenders is how many accounts are kept. Those that have all of their budget are dropped beyond.
const maxSpenders = 1000

var errTooMany = daemon.Errorf(daemon.KindTooMany, codeTooMany, "This agent sends more than it may: wait a minute, and send less")

func newFloods(s *Server) *floods {
	return &floods{budgets: defaultBudgets(), server: s, spent: map[spender]*account{}, seats: map[net.Conn]*seat{}, told: map[load]*told{}}
}

// take spends one row, of so many bytes, of an agent's budget, or returns errTooMany.
func (f *floods) take(what load, agent int64, bytes int) error {
	limits := f.budgets.agent
	if agent == 0 {
		limits = f.budgets.unknown
	}
	of, now := limits[what], time.Now()
	f.mu.Lock()
	who := spender{what, agent}
	has := f.spent[who]
	if has == nil {
		f.forget(now)
		has = &account{rate.NewLimiter(of.rows, of.rowsOnce), rate.NewLimiter(of.bytes, of.bytesOnce)}
		f.spent[who] = has
	}
	f.mu.Unlock()
	if has.rows.AllowN(now, 1) && has.bytes.AllowN(now, bytes) {
		return nil
	}
	from := "what is known as no agent's"
	if agent != 0 {
		from = fmt.Sprintf("agent %d", agent)
	}
	f.refuse(what, from)
	return errTooMany
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
		if err := f.take(what, id, int(min(size, maxBody))); err != nil {
			return err
		}
		return next(c)
	}
}

// ofHook has the sender of a hook pay for it: the agent around it, whatever secret it names.
func (f *floods) ofHook(ctx context.Context, bytes int) error {
	var agent int64
	if peer := sender(ctx); peer != nil && peer.PID != noProcess {
		agent = sight.Holder(ctx, f.server.Daemon.Sight, peer.Process)
	}
	return f.take(loadHooks, agent, bytes)
}

// seat is one open connection.
type seat struct {
	conn    net.Conn
	hooks   bool   // it is one to the hook socket
	pid     int    // who has connected over a unix socket
	address string // who has connected over TCP, and has not shown yet that they may; "": nobody
	begun   time.Time
}

// seatKey is the key in a connection's context of its seat.
type seatKey struct{}

// limit has a server's connections take seats.
func (f *floods) limit(server *http.Server, hooks bool) {
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		ctx = withSender(ctx, conn)
		s := &seat{conn: conn, hooks: hooks, begun: time.Now()}
		if peer := sender(ctx); peer != nil {
			s.pid = peer.PID
		} else if at, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
			s.address = at.IP.String()
		}
		over, many := f.seat(s)
		if many && f.isInside(ctx) {
			over = s
		}
		if over != nil {
			f.refuse(loadConnections, f.drop(over))
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

// seat gives a connection a seat. If there are too many, it returns the one that has to go. Of connections over TCP that have not shown yet that
// they may it is the oldest, because whoever may shows it at once. Of others it is the new one. many: one process has so many connections to the
// main socket that it must be no agent.
func (f *floods) seat(s *seat) (over *seat, many bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seats[s.conn] = s
	alike, process, address, strangers := 0, 0, 0, 0
	oldest, oldestHere := s, s
	for _, other := range f.seats {
		if other.hooks == s.hooks {
			alike++
		}
		if s.pid > 0 && other.pid == s.pid && other.hooks == s.hooks {
			process++
		}
		if other.address == "" {
			continue
		}
		strangers++
		if other.begun.Before(oldest.begun) {
			oldest = other
		}
		if other.address == s.address {
			address++
			if other.begun.Before(oldestHere.begun) {
				oldestHere = other
			}
		}
	}
	most := f.budgets.ofOthers
	if s.hooks {
		most = f.budgets.ofHooks
	}
	switch many = process > f.budgets.ofProcess; {
	case s.address != "" && address > f.budgets.ofAddress:
		return oldestHere, false
	case s.address != "" && strangers > f.budgets.ofStrangers:
		return oldest, false
	case alike > most, many && s.hooks:
		return s, false
	}
	return nil, many
}

// drop takes a seat away, and says whose it was.
func (f *floods) drop(s *seat) (from string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.seats, s.conn)
	if s.address != "" {
		return "the address " + s.address + ", without a token or a login"
	}
	return fmt.Sprintf("process %d", s.pid)
}

// isInside reports whether the sender of a connection runs inside an agent. No other connection is taken meanwhile.
func (f *floods) isInside(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, inside := f.server.Daemon.Inside(ctx, sender(ctx).Process)
	return inside
}

// admitting remembers which connections over TCP have sent what only those may send who have the token or a login.
func (f *floods) admitting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s, ok := r.Context().Value(seatKey{}).(*seat); ok && !openToAll(r) && !takesLink(r) {
			f.mu.Lock()
			s.address = ""
			f.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}
