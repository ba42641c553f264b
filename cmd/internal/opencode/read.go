package opencode

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/runtimes/opencode"
)

// recent is how many of the newest messages a look reads, if an earlier look has read those before.
const recent = 40

// read returns what the server tells of a session now. It reads the newest messages up to limit; 0: all.
//
// The messages come before the status: if a turn ends between the two requests, its answer looks unfinished in an idle
// session, and the next look finds the rest. The other way round, an old status could end a turn that has just begun.
func (s *server) read(ctx context.Context, id string, limit int) (opencode.Sight, error) {
	sight := opencode.Sight{Session: id, Transcript: s.link.Transcript}
	path := inSession(id, "/message")
	if limit > 0 {
		path += "?limit=" + strconv.Itoa(limit)
	}
	if err := s.call(ctx, http.MethodGet, path, nil, &sight.Messages); err != nil {
		return sight, err
	}
	var all map[string]opencode.Status
	if err := s.call(ctx, http.MethodGet, "/session/status", nil, &all); err != nil {
		return sight, err
	}
	if sight.Status = all[id]; sight.Status.Type == "idle" {
		sight.Status = opencode.Status{}
	}
	return sight, nil
}

// asked returns what OpenCode waits for. A request of a sub-agent has another session; all sessions of this server are the
// agent's.
func (s *server) asked(ctx context.Context) (all []opencode.Asked, err error) {
	var permissions []struct {
		ID         string   `json:"id"`
		Permission string   `json:"permission"`
		Patterns   []string `json:"patterns"`
	}
	if err := s.call(ctx, http.MethodGet, "/permission", nil, &permissions); err != nil {
		return nil, err
	}
	for _, p := range permissions {
		what := "permission for " + strings.ReplaceAll(p.Permission, "_", " ")
		if len(p.Patterns) > 0 {
			what += ": " + strings.Join(p.Patterns, ", ")
		}
		all = append(all, opencode.Asked{ID: p.ID, What: what})
	}
	var questions []struct {
		ID        string `json:"id"`
		Questions []struct {
			Question string `json:"question"`
		} `json:"questions"`
	}
	if err := s.call(ctx, http.MethodGet, "/question", nil, &questions); err != nil {
		return nil, err
	}
	for _, q := range questions {
		what := "a question"
		if len(q.Questions) > 0 {
			what = cmp.Or(q.Questions[0].Question, what)
		}
		all = append(all, opencode.Asked{ID: q.ID, What: what})
	}
	return all, nil
}

// windows returns the sizes of the context windows, by provider and model.
func (s *server) windows(ctx context.Context) (map[[2]string]int64, error) {
	var in struct {
		Providers []struct {
			ID     string `json:"id"`
			Models map[string]struct {
				Limit struct {
					Context int64 `json:"context"`
				} `json:"limit"`
			} `json:"models"`
		} `json:"providers"`
	}
	if err := s.call(ctx, http.MethodGet, "/config/providers", nil, &in); err != nil {
		return nil, err
	}
	sizes := map[[2]string]int64{}
	for _, p := range in.Providers {
		for name, m := range p.Models {
			sizes[[2]string{p.ID, name}] = m.Limit.Context
		}
	}
	return sizes, nil
}

// since keeps when each request was first seen.
func since(now time.Time, before, asked []opencode.Asked) []opencode.Asked {
	for i := range asked {
		asked[i].Since = now
		for _, b := range before {
			if b.ID == asked[i].ID {
				asked[i].Since = b.Since
			}
		}
	}
	return asked
}
