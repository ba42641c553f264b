package daemon

import "github.com/understudyd/understudy/data/secrets"

// SecretsPolicy says what becomes of documents, outputs of steps and messages between agents in which [secrets.Find] finds something.
type SecretsPolicy string

// The policies.
const (
	SecretsWarn   SecretsPolicy = "warn"   // they are passed on, with a warning that names rule and line
	SecretsRefuse SecretsPolicy = "refuse" // they are not passed on, unless a person forces it
	SecretsOff    SecretsPolicy = "off"    // nobody looks
)

// Seen says which secrets a text has, by rule and line; "": none, or nobody looks.
func (p SecretsPolicy) Seen(text string) string {
	if p == SecretsOff {
		return ""
	}
	return secrets.Words(text)
}

// Refused is Seen under the policy that refuses, and "" under the others.
func (p SecretsPolicy) Refused(text string) string {
	if p != SecretsRefuse {
		return ""
	}
	return secrets.Words(text)
}

// Mask masks the secrets of what the daemon puts together from transcripts.
func (p SecretsPolicy) Mask(text []byte) []byte {
	if p == SecretsOff {
		return text
	}
	return []byte(secrets.Mask(string(text)))
}
