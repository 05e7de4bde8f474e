package access

// Permission is one of the seven of the specification (spec §191).
type Permission string

// The permissions of section 191.
const (
	ReadFleets         Permission = "fleet.read"
	ManageFleets       Permission = "fleet.manage"
	ScaleFleets        Permission = "fleet.scale"
	DrainFleets        Permission = "fleet.drain"
	FreezeFleets       Permission = "fleet.freeze"
	ManageImages       Permission = "fleet.image.manage"
	ManageReservations Permission = "fleet.reservation.manage"
)

// AllPermissions lists the seven.
func AllPermissions() []Permission {
	return []Permission{ReadFleets, ManageFleets, ScaleFleets, DrainFleets, FreezeFleets, ManageImages, ManageReservations}
}

// Permissions is the one table of what each use case needs. Routes and commands
// name a use case, never a permission.
var Permissions = map[string]Permission{
	// A plan reads, with the manager's rights, the files and variables that a
	// submission's secrets refer to, and answers with what is wrong about them.
	"plan":       ManageFleets,
	"apply":      ManageFleets,
	"watch":      ReadFleets,
	"fleets":     ReadFleets,
	"instances":  ReadFleets,
	"instance":   ReadFleets,
	"decisions":  ReadFleets,
	"events":     ReadFleets,
	"unrecorded": ReadFleets,
	// What a person must decide, and what only a person may.
	"instance resolve": ManageFleets,
	"instance adopt":   ManageFleets,
	"instance replace": ManageFleets,
	"instance drain":   DrainFleets,

	// What people decide beside the file.
	"fleet scale":    ScaleFleets,
	"instance pin":   ScaleFleets,
	"freeze":         FreezeFleets,
	"quarantine":     FreezeFleets,
	"images":         ReadFleets,
	"image rollout":  ManageImages,
	"image rollback": ManageImages,
	// It lets money be spent that the file, which needs the same, doesn't let.
	"cost override":      ManageFleets,
	"reservations":       ReadFleets,
	"reservation create": ManageReservations,
	"reservation delete": ManageReservations,

	"token join":   ManageFleets,
	"refusals":     ReadFleets,
	"token create": ManageFleets,
	"token list":   ManageFleets,
	"token delete": ManageFleets,
	"audit":        ManageFleets,
	"key list":     ManageFleets,
	"key rotate":   ManageFleets,
	"key delete":   ManageFleets,
}
