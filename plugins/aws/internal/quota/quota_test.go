package quota

import "testing"

func TestATypeIsHeldAgainstTheQuotaOfAllItsLetters(t *testing.T) {
	for machineType, want := range map[string][2]string{
		"c7i.large": {"L-1216C47A", "L-34B43A08"}, "t3.micro": {"L-1216C47A", "L-34B43A08"},
		"d3.xlarge":   {"L-1216C47A", "L-34B43A08"},
		"im4gn.large": {"L-1216C47A", "L-34B43A08"}, "g5.xlarge": {"L-DB2E81BA", "L-3819A6DF"},
		"vt1.3xlarge": {"L-DB2E81BA", "L-3819A6DF"},
		"p5.48xlarge": {"L-417A185B", ""}, "inf2.xlarge": {"L-1945791B", "L-B5D1601B"},
		"trn1.2xlarge": {"L-2C3B7624", "L-6B0D517C"},
		"dl1.24xlarge": {"L-6E869C2A", "L-85EED4F7"}, "x2idn.metal": {"L-7295265B", "L-E3A00192"},
		"f2.6xlarge": {"L-74FC7D96", "L-88CF9481"},
		"mac2.metal": {}, "hpc7g.4xlarge": {}, "u-6tb1.metal": {}, "u7i-12tb.224xlarge": {}, "": {}, "7": {}, "abc": {},
	} {
		if got := [2]string{Of(machineType, false), Of(machineType, true)}; got != want {
			t.Errorf("%s is held against %q, wanted %q", machineType, got, want)
		}
	}
}

func TestWhatIsLeftIsNeverLessThanNothing(t *testing.T) {
	for _, c := range []struct {
		limit      float64
		used, each int64
		want       uint32
	}{{32, 0, 4, 8}, {32, 29, 4, 0}, {32, 28, 4, 1}, {32, 40, 4, 0}, {0, 0, 2, 0}, {1e12, 0, 1, 1 << 31}, {10, 0, 0, 0}} {
		if got := Left(c.limit, c.used, c.each); got != c.want {
			t.Errorf("of %v with %d in use %d of %d are left, wanted %d", c.limit, c.used, got, c.each, c.want)
		}
	}
}
