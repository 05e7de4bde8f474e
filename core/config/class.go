package config

import "github.com/forgeyard/forgeyard-fleet/core/fleet"

func (l *loader) readCapacityClass(block *body) {
	var written classBlock
	block.read(&written)
	block.close()
	l.classes[written.Name], l.classHeaders[written.Name] = written.class(), block.header
}

// class is what the block means.
func (c *classBlock) class() fleet.CapacityClass {
	result := fleet.CapacityClass{
		Name: c.Name, Trust: c.Trust, Capabilities: c.Capabilities, Toolchain: c.Toolchain, Device: c.Device,
		Isolation: c.Isolation, Signing: c.Signing, Confidential: c.Confidential,
	}
	if c.Platform != nil {
		result.Platform = fleet.Platform(*c.Platform)
	}
	if c.Resources != nil {
		result.Resources = fleet.ResourceCapacity(*c.Resources)
	}
	return result
}

// classBlockOf is the block that means a class.
func classBlockOf(c fleet.CapacityClass) *classBlock {
	platform, resources := platformBlock(c.Platform), resourcesBlock(c.Resources)
	return &classBlock{
		Name: c.Name, Trust: c.Trust, Capabilities: c.Capabilities, Toolchain: c.Toolchain, Device: c.Device,
		Isolation: c.Isolation, Signing: c.Signing, Confidential: c.Confidential, Platform: &platform, Resources: &resources,
	}
}
