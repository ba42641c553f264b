//go:build e2e

package stories

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/understudyd/understudy/cmd/internal/serve"
	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/event"
)

// TestBrowserTestsTargets: the settings page tests each target, and says why one does not arrive; the pages name a
// manifest, with which a phone installs the dashboard.
func TestBrowserTestsTargets(t *testing.T) {
	t.Parallel()
	box, r := newMailbox(t), newRig(t)
	notifyTargets(r, fmt.Sprintf("notify: {targets: {phone: {type: ntfy, url: %s/topic}, broken: {type: command, command: ['false']}}}", box.url))
	p := openDashboard(r)
	p.visit("/ui/settings")
	p.awaitText("#target-phone", "nothing sent yet")
	p.click("#target-phone button")
	p.awaitText("#toasts", "Test sent to phone")
	if posts := box.to("/topic"); len(posts) != 1 || posts[0].header.Get("Title") != "understudy: test" || posts[0].header.Get("Priority") != "default" {
		t.Errorf("sent %+v", posts)
	}
	p.click("#target-broken button")
	p.awaitText("#toasts .bad", "exit code 1")
	alert := &event.Event{Type: event.SpoolUnreadable, Host: hostOf(r), Alert: true, Payload: event.Payload(map[string]any{"message": "The spool cannot be read."})}
	must(t, r.database().Commit(t.Context(), &daemon.Change{Events: []*event.Event{alert}}))
	r.await("the alert on the phone", func() (bool, string) {
		posts := box.to("/topic")
		return len(posts) == 2 && strings.Contains(posts[1].body, "The spool cannot be read."), fmt.Sprint(posts)
	})
	p.visit("/ui/settings")
	p.awaitText("#target-phone", "last sent")
	p.awaitText("#target-broken", "trying again")
	p.awaitText("#target-broken", "exit code 1")
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 390} {
			p.setScreen(width, scheme)
			p.wantFits("settings")
			p.takePicture(fmt.Sprintf("targets-%s-%d", scheme, width))
		}
	}
	const manifest = `fetch(document.querySelector('link[rel=manifest]').href).then(r => r.json()).then(async m => {
		const icons = await Promise.all(m.icons.map(async i => { const img = new Image(); img.src = i.src; await img.decode(); return i.sizes + '=' + img.naturalWidth; }));
		return [m.display, m.start_url, m.name, ...icons].join(' '); })`
	if got := eval[string](p, manifest); !strings.HasPrefix(got, "standalone / understudy") || !strings.Contains(got, "192x192=192 512x512=512 512x512=512") {
		t.Errorf("manifest %q", got)
	}
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error { // the browser itself takes it, which the policy must allow
		m, err := cdp.Call(ctx, target, cdppage.GetAppManifest, cdppage.GetAppManifestParams{})
		if err == nil && (len(m.Errors) > 0 || !strings.Contains(m.Data, "standalone")) {
			t.Errorf("the browser takes the manifest as %+v", m)
		}
		return err
	}))
}

// post is what a receiver was sent.
type post struct {
	path   string
	header http.Header
	body   string
}

// mailbox is a receiver on loopback that speaks as ntfy and as a webhook do.
type mailbox struct {
	url string

	mu    sync.Mutex
	posts []post
}

func newMailbox(t testing.TB) *mailbox {
	b := &mailbox{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.posts = append(b.posts, post{r.URL.Path, r.Header, string(body)})
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
	must(r.t, os.WriteFile(path, []byte(yaml), 0o600))
	s := value(serve.LoadSettings(path, true, func(string) string { return "" }))(r.t)
	r.cfg.Settings.Notify.Targets = s.Notify.Targets
}

// hostOf returns the id of the rig's host.
func hostOf(r *rig) string {
	r.t.Helper()
	return value(r.dir.HostID())(r.t)
}
