package pluginlog

import "testing"

// What turns the direction of text around makes a terminal show another text.
func TestNoWordOfAPluginSteersATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[2J\x9b1m\x7f": "�[2J�1m�",
		"a\nb\tc\rd":        "a b c�d",
		"\u202egnp.exe":     "�gnp.exe",
		"\u2028\u2069ü":     "��ü",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
