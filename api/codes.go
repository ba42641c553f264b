package api

import "github.com/understudyd/understudy/daemon"

// Why the API itself refuses a request. They stand in api/openapi.yaml.
const (
	codeBodyCutOff       daemon.Code = "body_cut_off"
	codeBodyTooLarge     daemon.Code = "body_too_large"
	codeCutOff           daemon.Code = "cut_off"
	codeForeignHost      daemon.Code = "foreign_host"
	codeForeignOrigin    daemon.Code = "foreign_origin"
	codeInternal         daemon.Code = "internal"
	codeInvalidChallenge daemon.Code = "invalid_challenge"
	codeInvalidField     daemon.Code = "invalid_field"
	codeInvalidHeader    daemon.Code = "invalid_header"
	codeInvalidID        daemon.Code = "invalid_id"
	codeInvalidJSON      daemon.Code = "invalid_json"
	codeInvalidUTF8      daemon.Code = "invalid_utf8"
	codeLaunchOver       daemon.Code = "launch_over"
	codeLaunchRequired   daemon.Code = "launch_required"
	codeLinkUsed         daemon.Code = "link_used"
	codeLoginNotFound    daemon.Code = "login_not_found"
	codeMethodNotAllowed daemon.Code = "method_not_allowed"
	codeNoAddress        daemon.Code = "no_address"
	codeNotFound         daemon.Code = "not_found"
	codeNotReady         daemon.Code = "not_ready"
	codeNotYourAgent     daemon.Code = "not_your_agent"
	codeOperatorOnly     daemon.Code = "operator_only"
	CodePersonaNotFound  daemon.Code = "persona_not_found"
	codeProofRequired    daemon.Code = "proof_required"
	codeTokenRequired    daemon.Code = "token_required"
	codeTooMany          daemon.Code = "too_many"
	codeUnknownEvent     daemon.Code = "unknown_event"
	codeUnknownField     daemon.Code = "unknown_field"
	codeUnknownParameter daemon.Code = "unknown_parameter"
)

// Why the client has no answer.
const (
	codeDaemonNotRunning daemon.Code = "daemon_not_running"
	codeNoAnswer         daemon.Code = "no_answer"
	codeSocketForbidden  daemon.Code = "socket_forbidden"
)
