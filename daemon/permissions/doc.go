// Package permissions is the room of what agents ask a person: it holds the hooks of permissions, takes the operator's answers, and gives
// them to the hooks. What a rule answers is decided with the hook itself, in package daemon.
//
// It writes the rows of permissions once they are asked, the rules that the operator gives an agent, and, when a permission has ended, what
// the agent waits for. It has no duty: a goroutine beside the lanes ends the permissions whose hooks have gone. What a crash leaves: an
// answer that is committed and not given, for which the hook asks again, and permissions without a hook, which come back or are ended.
package permissions
