package config

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// maxCount bounds counts: a slip of the keyboard should not become a bill.
const maxCount = 100_000

func (l *loader) readCapacityClass(block *body) {
	class := fleet.CapacityClass{Name: block.labels[0]}
	block.need("trust", "trust = \"standard\"")
	class.Trust, _ = block.word("trust", "trust class", "standard")
	class.Capabilities = block.capabilities("capabilities")
	class.Toolchain, _ = block.names("toolchain")
	class.Device, _ = block.word("device", "kind of device", "android")
	class.Isolation, _ = block.word("isolation", "kind of isolation", "vm")
	class.Signing, _ = block.boolean("signing")
	class.Confidential, _ = block.boolean("confidential")
	if platform := block.single("platform"); platform != nil {
		class.Platform = platform.platform()
	} else {
		l.fail(block.header, block.where, "The platform block is missing",
			fmt.Sprintf("It is needed in %s, with os and arch.", block.where))
	}
	if resources := block.single("resources"); resources != nil {
		class.Resources = resources.resources()
	} else {
		l.fail(block.header, block.where, "The resources block is missing",
			fmt.Sprintf("It is needed in %s, with cpu and memory at least.", block.where))
	}
	block.close()
	l.classes[class.Name] = class
}

// capabilities are a set: order and repetition mean nothing, so they don't
// change the identity of the class.
func (b *body) capabilities(name string) []string {
	list, ok := b.texts(name)
	if !ok || len(list) == 0 {
		return nil
	}
	for i, capability := range list {
		if !wordForm.MatchString(capability) {
			b.fail(elementExpression(b.attribute(name).Expr, i).Range(), b.where, fmt.Sprintf("%q is no capability", clip(capability)),
				"Capabilities are words in lower case, such as \"docker\".")
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Names that people know from elsewhere, and ours.
var archNames = map[string]string{"amd64": "x86_64", "x64": "x86_64", "x86-64": "x86_64", "aarch64": "arm64"}

func (b *body) platform() fleet.Platform {
	b.need("os", "os = \"linux\"")
	b.need("arch", "arch = \"x86_64\"")
	var result fleet.Platform
	result.OS, _ = b.oneOf("os", "linux", "darwin", "windows")
	arch, ok := b.text("arch")
	switch {
	case ok && archNames[arch] != "":
		b.fail(b.at("arch"), b.where, fmt.Sprintf("%q has no such value as %q", "arch", arch), fmt.Sprintf("Did you mean %q?", archNames[arch]))
	case ok:
		result.Arch, _ = b.oneOf("arch", "x86_64", "arm64")
	}
	b.close()
	return result
}

func (b *body) resources() fleet.ResourceCapacity {
	b.need("cpu", "cpu = 4")
	b.need("memory", "memory = \"16GiB\"")
	result := fleet.ResourceCapacity{Slots: 1}
	result.CPUMilli, _ = b.cpu("cpu")
	result.MemoryBytes, _ = b.size("memory")
	result.DiskBytes, _ = b.size("disk")
	if slots, ok := b.count("slots", 1, maxCount); ok {
		result.Slots = int64(slots)
	}
	gpus, _ := b.count("gpu", 0, 1024)
	result.GPU = int64(gpus)
	result.Named = b.namedResources("named")
	b.close()
	return result
}

// namedResources are counts of what a host has besides, such as licences.
func (b *body) namedResources(name string) map[string]int64 {
	value, attribute, ok := b.value(name)
	if !ok {
		return nil
	}
	if !isMapping(value) {
		b.wrongType(name, "a map of whole numbers, such as { fpga = 2 }", value, attribute.Expr)
		return nil
	}
	var result map[string]int64
	for key, element := range mapping(value) {
		expr := keyExpression(attribute.Expr, key)
		label := fmt.Sprintf("%s[%q]", name, clip(key))
		if !fleet.ValidName(key) {
			b.fail(expr.Range(), b.where, fmt.Sprintf("%q is no valid name", clip(key)), "Names of resources begin with a lower-case letter and hold lower-case letters, digits, - and _.")
			continue
		}
		number, ok := b.asNumber(label, "a whole number", element, expr)
		if !ok {
			continue
		}
		whole, accuracy := number.Int64()
		if accuracy != big.Exact || whole < 1 || whole > 1_000_000_000 {
			b.fail(expr.Range(), b.where, fmt.Sprintf("%q can't be %s", label, numberText(number)), "It is a whole number from 1 to 1000000000.")
			continue
		}
		if result == nil {
			result = map[string]int64{}
		}
		result[key] = whole
	}
	return result
}
