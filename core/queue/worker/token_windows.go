package worker

import "os"

// takeToken reads the token and takes it out of the environment that jobs get.
func takeToken() (string, error) {
	token := os.Getenv(TokenVariable)
	return token, os.Unsetenv(TokenVariable)
}
