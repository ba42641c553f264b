package daemon

import (
	"time"
)

// HandoffSettings are the deadlines and limits of a handoff.
type HandoffSettings struct {
	DocumentTimeout     time.Duration `yaml:"document_timeout"`     // instruction accepted -> document verified
	BusyTimeout         time.Duration `yaml:"busy_timeout"`         // the running turn of a busy agent may take this long
	AckTimeout          time.Duration `yaml:"ack_timeout"`          // text typed -> runtime confirms that it was submitted
	ExitTimeout         time.Duration `yaml:"exit_timeout"`         // exit command typed -> process gone
	RegistrationTimeout time.Duration `yaml:"registration_timeout"` // pane started -> session-start
	MaxDocumentBytes    int64         `yaml:"max_document_bytes"`
	MinWords            int           `yaml:"-"` // of a generated document, beside its headings; 0: it may say nothing

	MaxMessages        int              `yaml:"max_messages"`         // how many messages are passed on, from the end of the conversation
	IncludeAllMessages bool             `yaml:"include_all_messages"` // pass on as many messages as MaxContextBytes allows, and all decisions
	MaxContextBytes    int64            `yaml:"max_context_bytes"`    // of the context file, without the document
	ValidateContext    bool             `yaml:"validate_context"`     // check the requirements of the successor's role
	LogTiming          bool             `yaml:"log_timing"`           // log how long the parts of the assembly took
	AssemblyTimeout    time.Duration    `yaml:"assembly_timeout"`     // the whole assembly of the context
	InPlace            bool             `yaml:"in_place"`             // a successor takes the pane of the outgoing agent, if the request does not say otherwise
	Targets            []string         `yaml:"targets"`              // the personas to which an agent may hand itself over, beside its own; "*": all
	Background         BackgroundPolicy `yaml:"background"`           // what a handoff does while only shell commands of its agent run in the background
	Secrets            SecretsPolicy    `yaml:"secrets"`              // what becomes of texts of agents that have secrets
	Auto               AutoSettings     `yaml:"auto"`
}

// PipelineSettings are the limits of pipelines.
type PipelineSettings struct {
	StepTimeout time.Duration `yaml:"step_timeout"` // a step's agent started -> end of its turn, if the template sets no time
	MaxRunning  int           `yaml:"max_running"`  // how many pipelines may be at work on this host, and how many agents of pipelines
	Cwd         string        `yaml:"cwd"`          // the directory of a pipeline that names none; "": each pipeline must name one
	Resume      bool          `yaml:"resume"`       // with Settings.Resume: pipelines that were interrupted go on by themselves after a start, each once
}

// AutoSettings are the limits by which the daemon judges the use of a context window, in percent of the window.
type AutoSettings struct {
	Enabled bool `yaml:"enabled"` // the daemon requests a handoff at Trigger
	Warn    int  `yaml:"warn"`
	High    int  `yaml:"high"`
	Trigger int  `yaml:"trigger"`
}

// DefaultHandoff has the defaults of config.yaml.
var DefaultHandoff = HandoffSettings{
	DocumentTimeout:     5 * time.Minute,
	BusyTimeout:         15 * time.Minute,
	AckTimeout:          30 * time.Second,
	ExitTimeout:         20 * time.Second,
	RegistrationTimeout: 90 * time.Second,
	MaxDocumentBytes:    900_000,
	MinWords:            15,
	MaxMessages:         50,
	MaxContextBytes:     1_000_000,
	ValidateContext:     true,
	LogTiming:           true,
	AssemblyTimeout:     5 * time.Second,
	Background:          BackgroundWarn,
	Secrets:             SecretsWarn,
	Auto:                AutoSettings{Warn: 60, High: 70, Trigger: 75},
}
