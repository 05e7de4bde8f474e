package standin

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"time"
)

// RunRunner is the runner's program: it asks for work, does a job to its end, and
// ends by itself when it is told to stop, when it has done its jobs, or when there
// was nothing to do for the idle timeout. A signal is left to what signals do.
func RunRunner(arguments []string) error {
	flags := flag.NewFlagSet("reviewos-runner", flag.ContinueOnError)
	url := flags.String("url", "", "")
	credential := flags.String("token", "", "")
	idle := flags.Int("idle-timeout", 0, "")
	jobs := flags.Int("jobs", 0, "")
	flags.String("labels", "", "")
	flags.String("tags", "", "")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *url == "" || *credential == "" || flags.NArg() > 0 {
		return errors.New("--url and --token are needed, and nothing beside flags")
	}
	done, finished, rested := 0, int64(0), time.Now()
	for {
		heard, err := ask(*url, *credential, polled{Finished: finished})
		if err != nil {
			return err
		}
		finished = 0
		switch {
		case heard.Job != 0:
			work(heard.Script)
			finished, rested = heard.Job, time.Now()
			done++
			continue
		case heard.Stop:
			return nil
		case *jobs > 0 && done >= *jobs:
			return nil
		case *idle > 0 && time.Since(rested) > time.Duration(*idle)*time.Second:
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func work(script string) {
	command := exec.Command("sh", "-c", script)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	_ = command.Run() // whether a job succeeds is its own matter
}

func ask(url, credential string, said polled) (heard polled, err error) {
	content, err := json.Marshal(said)
	if err != nil {
		return heard, err
	}
	request, err := http.NewRequest(http.MethodPost, url+pollPath, bytes.NewReader(content))
	if err != nil {
		return heard, err
	}
	request.Header.Set("Authorization", "Bearer "+credential)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return heard, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return heard, fmt.Errorf("the server answers %s", response.Status)
	}
	return heard, json.NewDecoder(response.Body).Decode(&heard)
}
