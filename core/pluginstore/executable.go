package pluginstore

import (
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"fmt"
	"os"
)

var (
	elfMachines = map[elf.Machine]string{
		elf.EM_X86_64:  "amd64",
		elf.EM_AARCH64: "arm64",
		elf.EM_386:     "386",
		elf.EM_ARM:     "arm",
		elf.EM_RISCV:   "riscv64",
		elf.EM_PPC64:   "ppc64le",
		elf.EM_S390:    "s390x",
	}
	machoMachines = map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}
	peMachines    = map[uint16]string{
		pe.IMAGE_FILE_MACHINE_AMD64: "amd64",
		pe.IMAGE_FILE_MACHINE_ARM64: "arm64",
		pe.IMAGE_FILE_MACHINE_I386:  "386",
	}
)

// PlatformOfFile is what an executable runs on, by its own header: "linux_amd64".
// Its name says nothing that could be wrong.
func PlatformOfFile(path string) (string, error) {
	system, architecture := "", ""
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("look at the built program: %w", err)
	}
	if program, err := elf.Open(path); err == nil {
		defer program.Close()
		if program.OSABI == elf.ELFOSABI_NONE || program.OSABI == elf.ELFOSABI_LINUX {
			system, architecture = "linux", elfMachines[program.Machine]
		}
	} else if program, err := macho.Open(path); err == nil {
		defer program.Close()
		system, architecture = "darwin", machoMachines[program.Cpu]
	} else if program, err := pe.Open(path); err == nil {
		defer program.Close()
		system, architecture = "windows", peMachines[program.Machine]
	}
	if system == "" || architecture == "" {
		return "", fmt.Errorf(
			"%s is not an executable for linux, darwin or windows; name only the built programs, one for each platform",
			path,
		)
	}
	return system + "_" + architecture, nil
}

// FilesByPlatform sorts executables.
func FilesByPlatform(paths []string) (map[string]string, error) {
	files := map[string]string{}
	for _, path := range paths {
		platform, err := PlatformOfFile(path)
		if err != nil {
			return nil, err
		}
		if other, twice := files[platform]; twice {
			return nil, fmt.Errorf("%s and %s are both for %s; name one", other, path, platform)
		}
		files[platform] = path
	}
	return files, nil
}

// Platforms checks the names of platforms that a person gave.
func Platforms(names []string) ([]string, error) {
	for _, name := range names {
		if !platformForm.MatchString(name) {
			return nil, fmt.Errorf("unknown platform %q; write one such as linux_amd64 or darwin_arm64", name)
		}
	}
	return names, nil
}
