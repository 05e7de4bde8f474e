package terminal

import (
	"context"
	"os"
)

// Interruptions gives signals their meaning: the first asks to stop in order and
// ends ctx, the second asks not to wait for answers and closes hurry. Then
// restore gives signals back their default, so that a third ends the process
// whatever it is doing.
func Interruptions(signals <-chan os.Signal, restore func()) (ctx context.Context, hurry <-chan struct{}) {
	ctx, interrupt := context.WithCancel(context.Background())
	second := make(chan struct{})
	go func() {
		<-signals
		interrupt()
		<-signals
		restore()
		close(second)
	}()
	return ctx, second
}
