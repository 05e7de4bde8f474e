package settings

// How the ids of things begin.
const (
	InstanceID    = "i-"
	VolumeID      = "vol-"
	InterfaceID   = "eni-"
	SpotRequestID = "sir-"
	HostID        = "h-"
)
