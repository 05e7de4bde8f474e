//go:build unix

package worker

import (
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// tokenDescriptor names the pipe in which the token waits for this program after
// it has replaced itself.
const tokenDescriptor = "FORGEYARD_QUEUE_TOKEN_DESCRIPTOR"

// takeToken reads the token and takes it out of the environment. Unsetting it
// would leave it where the system shows the environment that a program was
// started with, to jobs of the same user too. So the program replaces itself, in
// the same process, by one that was started without it.
func takeToken() (string, error) {
	if text := os.Getenv(tokenDescriptor); text != "" {
		_ = os.Unsetenv(tokenDescriptor)
		descriptor, err := strconv.Atoi(text)
		if err != nil {
			return "", err
		}
		pipe := os.NewFile(uintptr(descriptor), "token")
		defer pipe.Close()
		content, err := io.ReadAll(io.LimitReader(pipe, 4096))
		return string(content), err
	}
	token := os.Getenv(TokenVariable)
	if token == "" {
		return "", nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	if _, err := write.WriteString(token); err != nil {
		return "", err
	}
	_ = write.Close()
	inherited, err := syscall.Dup(int(read.Fd())) // without close-on-exec
	if err != nil {
		return "", err
	}
	program, err := os.Executable()
	if runtime.GOOS == "linux" {
		program, err = "/proc/self/exe", nil // the folder of the program may be closed to the user of jobs
	}
	if err != nil {
		return "", err
	}
	var env []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, TokenVariable+"=") {
			env = append(env, variable)
		}
	}
	return "", syscall.Exec(program, os.Args, append(env, tokenDescriptor+"="+strconv.Itoa(inherited)))
}
