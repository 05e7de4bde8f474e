package workspace

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// Place is where an installation keeps its things on this machine.
type Place struct {
	// State holds the store, the keys and the writer's lock.
	State string
	// Run holds sockets and launch locks. Its path is short, since a socket's
	// may have about a hundred bytes.
	Run string
	// Plugins is the content-addressed store that all projects share.
	Plugins string
}

// Socket is where a daemon of this place answers the users of this machine.
func (p Place) Socket() string { return filepath.Join(p.Run, "api.sock") }

// Names within the state directory.
const (
	databaseName = "fleet.db"
	lockName     = "manager.lock"
)

// Database is the file of the store.
func (p Place) Database() string { return filepath.Join(p.State, databaseName) }

// WriterLock is the file that the one writer of the state holds locked.
func (p Place) WriterLock() string { return WriterLock(p.State) }

// Keys is the folder of the installation's keys.
func (p Place) Keys() string { return filepath.Join(p.State, "keys") }

// WriterLock is the lock's file in a state directory.
func WriterLock(state string) string { return filepath.Join(state, lockName) }

// ErrNothingApplied says that the state directory has no installation yet.
var ErrNothingApplied = errors.New("nothing has been applied yet; run: forgeyard-fleet apply")

// CheckInstalled says with ErrNothingApplied that there is no store yet.
func (p Place) CheckInstalled() error {
	if _, err := os.Stat(p.Database()); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", p.State, ErrNothingApplied)
	}
	return nil
}

// longestRun is how long Run may be: a launch adds about 40 bytes, and a
// socket's path has at most 104 on the narrowest system.
const longestRun = 60

// FindPlace decides where things are: the flag, then FLEET_STATE_DIR, then
// XDG_STATE_HOME/forgeyard-fleet/INSTALLATION. lookup reads the environment.
func FindPlace(flag, installation string, lookup func(string) (string, bool)) (Place, error) {
	env := func(name string) string { value, _ := lookup(name); return value }
	var p Place
	switch {
	case flag != "":
		p.State = flag
	case env("FLEET_STATE_DIR") != "":
		p.State = env("FLEET_STATE_DIR")
	default:
		base, err := under(env("XDG_STATE_HOME"), env("HOME"), ".local/state")
		if err != nil {
			return Place{}, fmt.Errorf("find the state directory: %w; set --state or FLEET_STATE_DIR", err)
		}
		p.State = filepath.Join(base, "forgeyard-fleet", installation)
	}
	var err error
	if p.State, err = filepath.Abs(p.State); err != nil {
		return Place{}, fmt.Errorf("find the state directory: %w", err)
	}
	if err := MayHoldState(p.State); err != nil {
		return Place{}, err
	}
	if p.Plugins, err = PluginDirectory(lookup); err != nil {
		return Place{}, err
	}
	p.Run = runDirectory(p.State, env)
	return p, nil
}

// MayHoldState refuses a directory with others' things: a path that was mistyped,
// such as /etc, must not get ours. What isn't there is made.
func MayHoldState(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) { // who wants more of it is told
		return nil
	}
	if err != nil {
		return fmt.Errorf("look into the state directory: %w; set --state or FLEET_STATE_DIR to another one", err)
	}
	foreign := ""
	for _, entry := range entries {
		switch entry.Name() {
		case databaseName, lockName:
			return nil // a manager was here
		case "run", "lost+found": // a plan's sockets; a disk of its own
		default:
			foreign = cmp.Or(foreign, entry.Name())
		}
	}
	if foreign != "" {
		return fmt.Errorf(
			"the directory %s holds other things, such as %q, and no state of forgeyard-fleet; nothing was written: set "+
				"--state or FLEET_STATE_DIR to a directory that is empty or doesn't exist yet",
			dir,
			foreign,
		)
	}
	return nil
}

// PluginDirectory is where plugins are kept: FLEET_PLUGIN_DIR, else
// XDG_DATA_HOME/forgeyard-fleet/plugins.
func PluginDirectory(lookup func(string) (string, bool)) (string, error) {
	env := func(name string) string { value, _ := lookup(name); return value }
	if dir := env("FLEET_PLUGIN_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	base, err := under(env("XDG_DATA_HOME"), env("HOME"), ".local/share")
	if err != nil {
		return "", fmt.Errorf("find the plugin store: %w; set FLEET_PLUGIN_DIR", err)
	}
	return filepath.Join(base, "forgeyard-fleet", "plugins"), nil
}

// AgentFolder is where agent binaries are: by default beside this program.
func AgentFolder(s fleet.ManagerSettings) string {
	if s.Agents != "" {
		return s.Agents
	}
	own, err := os.Executable()
	if err != nil {
		return "."
	}
	return filepath.Dir(own)
}

// ConfigurationFile is the command line's own: FLEET_CONFIG, else
// XDG_CONFIG_HOME/forgeyard-fleet/config.hcl. It need not be there.
func ConfigurationFile(lookup func(string) (string, bool)) (string, error) {
	env := func(name string) string { value, _ := lookup(name); return value }
	if path := env("FLEET_CONFIG"); path != "" {
		return path, nil
	}
	base, err := under(env("XDG_CONFIG_HOME"), env("HOME"), ".config")
	if err != nil {
		return "", fmt.Errorf("find the configuration file: %w; set FLEET_CONFIG", err)
	}
	return filepath.Join(base, "forgeyard-fleet", "config.hcl"), nil
}

// runDirectory is RUNTIME_DIRECTORY, then XDG_RUNTIME_DIR, then the state
// directory where its path is short enough, each with a short hash of the state
// directory; else a private folder among the temporary files.
func runDirectory(state string, env func(string) string) string {
	sum := sha256.Sum256([]byte(state))
	hash := hex.EncodeToString(sum[:6])
	candidates := []string{filepath.Join(state, "run")}
	for _, name := range []string{"XDG_RUNTIME_DIR", "RUNTIME_DIRECTORY"} {
		if dir := env(name); dir != "" {
			candidates = append([]string{filepath.Join(dir, "forgeyard-fleet", hash)}, candidates...)
		}
	}
	for _, dir := range candidates {
		if len(dir) <= longestRun {
			return dir
		}
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("forgeyard-fleet-%d-%s", os.Getuid(), hash))
}

func under(xdg, home, fallback string) (string, error) {
	switch {
	case filepath.IsAbs(xdg):
		return xdg, nil
	case filepath.IsAbs(home):
		return filepath.Join(home, fallback), nil
	}
	return "", errors.New("HOME is not set")
}
