package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

func TestSignalsMeanStopThenHurryThenTheirDefault(t *testing.T) {
	signals := make(chan os.Signal)
	restored := make(chan struct{})
	ctx, hurry := Interruptions(signals, func() { close(restored) })
	if ctx.Err() != nil {
		t.Error("interrupted without a signal")
	}
	signals <- os.Interrupt
	<-ctx.Done()
	select {
	case <-hurry:
		t.Error("the first signal hurries already")
	case <-restored:
		t.Error("the first signal has its default back already")
	default:
	}
	signals <- syscall.SIGTERM
	<-hurry
	<-restored
}

// asProcess makes this test's program the process of the next test.
const asProcess = "FORGEYARD_TEST_INTERRUPTIONS"

// A process that hangs while it stops must end without kill -9.
func TestAThirdSignalEndsTheProcessWhateverItIsDoing(t *testing.T) {
	if os.Getenv(asProcess) != "" {
		signals := make(chan os.Signal, 2)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		ctx, hurry := Interruptions(signals, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })
		fmt.Println("ready")
		<-ctx.Done()
		fmt.Println("interrupted")
		<-hurry
		fmt.Println("hurries")
		select {}
	}
	for _, kind := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		process := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		process.Env = append(os.Environ(), asProcess+"=1")
		out, err := process.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = process.Process.Kill() }) // it is gone already
		lines := bufio.NewScanner(out)
		for _, want := range []string{"ready", "interrupted", "hurries"} {
			if !lines.Scan() || lines.Text() != want {
				t.Fatalf("the process says %q, want %q", lines.Text(), want)
			}
			if err := process.Process.Signal(kind); err != nil {
				t.Fatal(err)
			}
		}
		var end *exec.ExitError
		if err := process.Wait(); !errors.As(err, &end) || end.Sys().(syscall.WaitStatus).Signal() != kind {
			t.Errorf("%s: it ended with %v", kind, err)
		}
	}
}
