package stories

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon/tell"
)

// post is what a receiver was sent.
type post struct {
	path   string
	header http.Header
	body   string
}

// mailbox is a receiver on loopback that speaks as ntfy and as a webhook do.
type mailbox struct {
	url string

	mu     sync.Mutex
	posts  []post
	hanged int           // how many requests hang from now on
	hangs  chan struct{} // has an element for each request that hangs
}

func newMailbox(t testing.TB) *mailbox {
	b := &mailbox{hangs: make(chan struct{}, 10)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b.mu.Lock()
		b.posts = append(b.posts, post{r.URL.Path, r.Header, string(body)})
		hang := b.hanged > 0
		if hang {
			b.hanged--
		}
		b.mu.Unlock()
		if hang {
			b.hangs <- struct{}{}
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

// to returns what came to a path.
func (b *mailbox) to(path string) (of []post) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.posts {
		if p.path == path {
			of = append(of, p)
		}
	}
	return of
}

// notifyTargets sets the targets of a rig, as its config.yaml would.
func notifyTargets(r *rig, yaml string) {
	r.t.Helper()
	path := filepath.Join(r.root, "config.yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		r.t.Fatal(err)
	}
	s, err := serve.LoadSettings(path, true, func(string) string { return "" })
	if err != nil {
		r.t.Fatal(err)
	}
	r.cfg.Settings.Notify.Targets = s.Notify.Targets
}

// TestToldByThreeTargets: an agent that dies is told by ntfy, a webhook and a command. The daemon ends while the webhook
// hangs: the next one sends it again under the same key, and nothing else.
func TestToldByThreeTargets(t *testing.T) {
	t.Parallel()
	box, r := newMailbox(t), newRig(t)
	out := filepath.Join(t.TempDir(), "told")
	if err := os.WriteFile(filepath.Join(r.root, "hook-url"), []byte(box.url+"/hook\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	notifyTargets(r, fmt.Sprintf("notify:\n  targets:\n    phone: {type: ntfy, url: %s/topic, levels: [error]}\n"+
		"    team: {type: webhook, url_file: hook-url, types: [agent_*]}\n    own: {type: command, command: [sh, -c, 'cat >>%s']}\n"+
		"    waits: {type: ntfy, url: %[1]s/waits, levels: [waiting]}\n", box.url, out))
	r.cfg.Settings.PublicURL = "https://desk.example"
	r.start()
	a := r.startAgent(con)
	box.mu.Lock()
	for _, p := range box.posts {
		t.Errorf("told too early: %+v", p)
	}
	box.mu.Unlock()
	awaitTargetsIdle(r)
	box.mu.Lock()
	box.hanged = 99
	box.mu.Unlock()
	if err := r.tmux.Kill(t.Context(), r.pane(a.ID).Ref); err != nil {
		t.Fatal(err)
	}
	for range 2 { // ntfy and the webhook are being sent
		<-box.hangs
	}
	r.halt()
	box.mu.Lock()
	box.hanged = 0
	box.mu.Unlock()
	r.start()
	awaitTargetsIdle(r)
	ntfy, hook := box.to("/topic"), box.to("/hook")
	if len(ntfy) != 2 || len(hook) != 2 || len(box.to("/waits")) != 0 {
		t.Fatalf("sent %+v", box.posts)
	}
	if key := ntfy[1].header.Get("X-Sequence-ID"); key == "" || key != ntfy[0].header.Get("X-Sequence-ID") || !strings.Contains(ntfy[1].body, "had this before") {
		t.Errorf("ntfy: %+v", ntfy)
	}
	if click := ntfy[0].header.Get("Click"); click != fmt.Sprintf("https://desk.example/ui/agents/%d", a.ID) {
		t.Errorf("the link is %q", click)
	}
	var body struct {
		Understudy tell.Message `json:"understudy"`
	}
	if err := json.Unmarshal([]byte(hook[1].body), &body); err != nil || !body.Understudy.MaybeTwice || *body.Understudy.AgentID != a.ID ||
		hook[0].header.Get("Idempotency-Key") != hook[1].header.Get("Idempotency-Key") {
		t.Errorf("webhook: %v, %+v", err, hook)
	}
	b, err := os.ReadFile(out) // names what to do for an agent that had no conversation yet
	if lines := strings.Count(string(b), "\n"); err != nil || lines < 1 || lines > 2 || !strings.Contains(string(b), "understudy agent start") {
		t.Errorf("command: %v, %q", err, b)
	}
	for _, target := range targets(r) {
		if want := slices.Contains([]string{"phone", "team"}, target.Target); want && target.Twice != 1 || target.FailedAt != nil {
			t.Errorf("%+v", target)
		}
	}
}

// targets says how the targets do.
func targets(r *rig) []tell.PushReport {
	r.t.Helper()
	reports, err := r.database().PushReports(r.t.Context(), hostOf(r))
	if err != nil {
		r.t.Fatal(err)
	}
	return reports
}

// hostOf returns the id of the rig's host.
func hostOf(r *rig) string {
	r.t.Helper()
	host, err := r.dir.HostID()
	if err != nil {
		r.t.Fatal(err)
	}
	return host
}

// awaitTargetsIdle waits until every alert was told and every push has ended.
func awaitTargetsIdle(r *rig) {
	r.t.Helper()
	r.await("all notifications to be sent", func() (bool, string) {
		pending, err := r.database().PendingAlerts(r.t.Context(), hostOf(r), 10)
		if err != nil || len(pending) > 0 {
			return false, fmt.Sprint(pending, err)
		}
		open, err := r.database().OpenPushes(r.t.Context(), hostOf(r), "")
		return err == nil && len(open) == 0, fmt.Sprint(open, err)
	})
}
