package config

// AttributeChange is one attribute, old and new, as one would write them; empty
// is not set.
type AttributeChange struct {
	Path              string `json:"path"`
	Old               string `json:"old,omitempty"`
	New               string `json:"new,omitempty"`
	ReplacesInstances bool   `json:"replaces_instances,omitempty"`
}
