package api

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/dialogs"
	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/event"
	"github.com/understudyd/understudy/daemon/handoffs"
	"github.com/understudyd/understudy/daemon/limits"
	"github.com/understudyd/understudy/daemon/notices"
	"github.com/understudyd/understudy/daemon/peers"
	"github.com/understudyd/understudy/daemon/pictures"
	"github.com/understudyd/understudy/daemon/runtimes"
	"github.com/understudyd/understudy/daemon/sight"
	"github.com/understudyd/understudy/daemon/tell"
	"github.com/understudyd/understudy/daemon/usage"
	"github.com/understudyd/understudy/daemon/views"
	"github.com/understudyd/understudy/daemon/worktree"
	"github.com/understudyd/understudy/daemon/worktrees"
	"github.com/understudyd/understudy/data"
	"github.com/understudyd/understudy/personas"
)

// answered are the types of the answers, by the names of their schemas.
var answered = map[string]any{
	"Error": errorBody{}, "Resumption": views.Resumption{}, "Health": Health{}, "Agent": daemon.Agent{}, "Account": runtimes.Account{}, "ContextUse": daemon.ContextUse{}, "Trouble": daemon.Trouble{}, "Hold": daemon.Hold{}, "Limit": daemon.Limit{}, "Delivery": daemon.Delivery{},
	"Peers": peers.Peers{}, "Peer": peers.Peer{}, "PeerDelivery": PeerDelivery{},
	"Initiated": Initiated{}, "Handoff": daemon.Handoff{}, "HandoffHeir": daemon.HandoffHeir{}, "Structured": daemon.Structured{}, "Attention": views.Attention{}, "AttentionCount": views.AttentionCount{}, "Permission": daemon.Permission{}, "Dialog": sight.Dialog{}, "DialogChoice": sight.DialogChoice{}, "DialogAnswer": daemon.DialogAnswer{}, "KeysTaken": daemon.KeysTaken{}, "KeysTyped": dialogs.KeysTyped{}, "Runtime": engine.RuntimeInfo{}, "Transition": daemon.Transition{},
	"Persona": Persona{}, "FullPersona": FullPersona{}, "Pipeline": daemon.Pipeline{}, "Step": daemon.Step{},
	"Record": Record{}, "Decision": data.Decision{}, "Todo": data.Todo{}, "Reference": data.Reference{}, "PassedMessage": data.Message{},
	"StepHandoff": daemon.StepHandoff{}, "Template": Template{}, "Event": event.Event{}, "DashboardLink": DashboardLink{},
	"Login": Login{}, "SignedIn": SignedIn{}, "Hello": Hello{},
	"NotificationPreferences": tell.Preferences{}, "PruneReport": daemon.PruneReport{}, "NotificationTarget": notices.TargetReport{}, "TestedNotification": notices.Tested{},
	"Reloaded": engine.Reloaded{}, "Budget": usage.BudgetState{}, "Tokens": runtimes.Tokens{}, "UsageRow": views.UsageRow{}, "UsageReport": views.UsageReport{},
	"Timeline": pictures.Timeline{}, "Life": pictures.Life{}, "Durations": pictures.Durations{},
	"AgentDiff": agents.AgentDiff{}, "Worktree": daemon.Worktree{}, "WorktreeView": worktrees.TreeView{}, "FileDiff": worktree.FileDiff{},
}

// asked are the types of the requests' bodies, by the names of their schemas.
var asked = map[string]any{
	"Nothing": struct{}{}, "NewAgent": agents.NewAgent{}, "ChangeAgent": changeRequest{}, "Seen": seenRequest{}, "MergeWorktree": worktrees.TreeMerging{}, "RemoveWorktree": worktrees.TreeRemoval{}, "Stop": stopRequest{}, "Message": messageRequest{},
	"PeerMessage": peerMessageRequest{}, "Handoff": handoffRequest{}, "Cancel": cancelRequest{}, "CancelMessages": cancelMessagesRequest{}, "Retry": handoffs.Retry{}, "ContextReport": usage.ContextReport{}, "PermissionAnswer": permissionAnswerRequest{}, "DialogAnswer": dialogAnswerRequest{}, "Keys": dialogs.KeyBatch{}, "KeysEnd": keysEndRequest{}, "SignIn": signInRequest{}, "Limit": limits.LimitDecision{},
	"NewPersona": personas.New{}, "RenamePersona": renamePersonaRequest{}, "NewPipeline": newPipelineRequest{}, "Resume": resumeRequest{}, "ResumeAgents": resumeAgentsRequest{}, "DismissAgents": dismissAgentsRequest{}, "Prune": pruneRequest{}, "Decision": decisionRequest{},
	"NotificationPreferences": preferencesRequest{}, "TestNotification": testRequest{},
	"Hook": json.RawMessage{}, // the runtime's own
}

// TestDescriptionHasEveryField compares the description with the types of answers and requests, field by field.
func TestDescriptionHasEveryField(t *testing.T) {
	t.Parallel()
	components := loadSpec(t).doc.Components
	for name, schema := range components.Schemas {
		if schema.Value.Type.Is("object") && answered[name] == nil {
			t.Errorf("components/schemas/%s: add its Go type to answered in openapi_fields_test.go", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(answered)) {
		schema := components.Schemas[name]
		if schema == nil {
			t.Errorf("api/openapi.yaml: add components/schemas/%s for %T", name, answered[name])
			continue
		}
		c := comparison{t: t, answer: true}
		c.compare("components/schemas/"+name, schema.Value, reflect.TypeOf(answered[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(components.RequestBodies)) {
		body := components.RequestBodies[name].Value.Content.Get("application/json")
		switch {
		case asked[name] == nil:
			t.Errorf("components/requestBodies/%s: add its Go type to asked in openapi_fields_test.go", name)
		case body == nil:
			t.Errorf("components/requestBodies/%s is not JSON", name)
		default:
			c := comparison{t: t}
			c.compare("components/requestBodies/"+name, body.Schema.Value, reflect.TypeOf(asked[name]))
		}
	}
}

// comparison compares a schema with a type.
type comparison struct {
	t      *testing.T
	answer bool // the type is that of an answer, not of a request
}

func (c comparison) compare(where string, schema *openapi3.Schema, typ reflect.Type) {
	switch typ.Kind() {
	case reflect.Pointer:
		if c.answer && !schema.Nullable && !slices.ContainsFunc(schema.AllOf, func(s *openapi3.SchemaRef) bool { return s.Value.Nullable }) {
			c.t.Errorf("%s can be null: say so in api/openapi.yaml", where)
		}
		c.compare(where, schema, typ.Elem())
	case reflect.Slice, reflect.Array:
		if typ == reflect.TypeFor[json.RawMessage]() {
			return
		}
		if schema.Items == nil {
			c.t.Errorf("%s is an array, which api/openapi.yaml does not say", where)
			return
		}
		c.compare(where+"/items", schema.Items.Value, typ.Elem())
	case reflect.Struct:
		if len(schema.AllOf) == 1 { // a reference that can be null
			schema = schema.AllOf[0].Value
		}
		if typ != reflect.TypeFor[time.Time]() {
			c.fields(where, schema, typ)
		}
	default:
		if len(schema.Properties) > 0 {
			c.t.Errorf("%s is a %s, which api/openapi.yaml describes as an object", where, typ)
		}
	}
}

func (c comparison) fields(where string, schema *openapi3.Schema, typ reflect.Type) {
	if allowed := schema.AdditionalProperties.Has; allowed == nil || *allowed {
		c.t.Errorf("%s: add `additionalProperties: false`, for %s has no other fields", where, typ)
	}
	has := map[string]bool{}
	for _, field := range reflect.VisibleFields(typ) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous || name == "-" || name == "" {
			continue
		}
		has[name] = true
		property := schema.Properties[name]
		if property == nil {
			c.t.Errorf("%s has a field %q, which is not described: add it to %s in api/openapi.yaml", typ, name, where)
			continue
		}
		always := !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero")
		if c.answer && always != slices.Contains(schema.Required, name) {
			c.t.Errorf("%s/%s is always there: %v; make `required` say so in api/openapi.yaml", where, name, always)
		}
		of := field.Type
		if !always && of.Kind() == reflect.Pointer { // absent in place of null
			of = of.Elem()
		}
		c.compare(where+"/"+name, property.Value, of)
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if !has[name] {
			c.t.Errorf("%s/%s: %s has no such field; remove it from api/openapi.yaml", where, name, typ)
		}
	}
}

// TestDescriptionHasEveryHeader finds our headers that are not described.
func TestDescriptionHasEveryHeader(t *testing.T) {
	t.Parallel()
	var headers []string
	for _, p := range loadSpec(t).doc.Components.Parameters {
		if p.Value.In == "header" {
			headers = append(headers, p.Value.Name)
		}
	}
	want := []string{launchHeader, runtimeHeader, tmuxHeader, paneHeader, agentPIDHeader, agentStartHeader, bootIDHeader, hookKeyHeader, hookAtHeader, "Last-Event-ID"}
	slices.Sort(headers)
	slices.Sort(want)
	equal(t, "the headers that are described", headers, want)
}
