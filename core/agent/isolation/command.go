package isolation

import (
	"os"
	"os/exec"
	"runtime"

	"github.com/forgeyard/forgeyard-fleet/core/agent/process"
)

// OwnProgram, as the first word of a command, means this very program, wherever
// it is: it has the worker of the reference scheduler in it.
const OwnProgram = "forgeyard-runner"

// Command is the command of a job as a process of the user.
func (u *User) Command(h Host, argv []string) *exec.Cmd {
	if u.IsolatedUID() != 0 {
		return u.helper(h, helperRun, argv...)
	}
	argv = withOwnProgram(argv)
	cmd := exec.Command(argv[0], argv[1:]...)
	if u == nil {
		process.InNewGroup(cmd)
	} else {
		u.become(cmd)
	}
	return cmd
}

// withOwnProgram is a command with this program in the place of its name. Where jobs
// are isolated the helper does that, since their user may not enter the folder
// that this program is in.
func withOwnProgram(argv []string) []string {
	if own, err := os.Executable(); argv[0] == OwnProgram && err == nil {
		return append([]string{own}, argv[1:]...)
	}
	return argv
}

// Environment is all that a job sees of the host's: nothing of the agent's own.
func Environment(path, home, temporary string, more map[string]string) []string {
	env := []string{"PATH=" + path, "HOME=" + home, "LANG=C.UTF-8", "TMPDIR=" + temporary}
	if runtime.GOOS == "windows" {
		env = append(env, "USERPROFILE="+home, "TEMP="+temporary, "TMP="+temporary)
		for _, name := range []string{"SystemRoot", "SystemDrive", "ComSpec", "PATHEXT", "windir"} {
			env = append(env, name+"="+os.Getenv(name))
		}
	}
	for name, value := range more {
		env = append(env, name+"="+value)
	}
	return env
}
