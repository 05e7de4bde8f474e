package pluginauthor

import (
	"net"
	"strings"
	"testing"

	"github.com/forgeyard/forgeyard-fleet/core/pluginhost/pluginlog"
)

func TestAPluginThatFloodsFillsNoMemoryOfTheKit(t *testing.T) {
	var process benchProcess
	for range 3 * maxOutput >> 16 {
		process.recordOutput(pluginlog.OutputLine{Text: strings.Repeat("x", 64<<10)})
	}
	if kept := len(process.Said()); kept == 0 || kept > maxOutput>>16 {
		t.Errorf("%d lines of 64 KiB are kept", kept)
	}
	trap, err := newProxyTrap()
	if err != nil {
		t.Fatal(err)
	}
	defer trap.close()
	conn, err := net.Dial("tcp", trap.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// One line that doesn't end. What is sent after the trap has hung up fails.
	for chunk := []byte(strings.Repeat("x", 64<<10)); err == nil; {
		_, err = conn.Write(chunk)
	}
	if came := trap.reached(); len(came) != 1 {
		t.Errorf("the trap saw %d", len(came))
	}
}
