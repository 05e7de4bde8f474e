package seed

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// file is one file of the only folder.
type file struct {
	name    string
	content []byte
}

const sectorSize = 2048

// The sectors of the image: 16 are unused, then come the two descriptions of the
// volume, one in the old form and one in Joliet's, the only one with room for names
// such as "user-data"; the end of descriptions; each form's path tables in both
// byte orders; each form's folder; and the files, which both folders point to.
const (
	primarySector   = 16 + iota
	jolietSector    // 17
	endSector       // 18
	primaryPathL    // 19
	primaryPathM    // 20
	jolietPathL     // 21
	jolietPathM     // 22
	primaryFolder   // 23
	jolietFolder    // 24
	firstFileSector // 25
)

// iso9660 is a disk that is complete without a file of its own on any other disk:
// the content is secret. There is no time in it, so that it is the same each time.
func iso9660(label string, files []file) ([]byte, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	var content bytes.Buffer
	var short, long bytes.Buffer // the two folders
	writeFolders(&short, primaryFolder, &long, jolietFolder)
	for n, f := range files {
		sector := uint32(firstFileSector + content.Len()/sectorSize)
		size := uint32(len(f.content))
		writeEntry(&short, []byte(fmt.Sprintf("FILE%d.;1", n)), sector, size, 0)
		writeEntry(&long, utf16BE(f.name), sector, size, 0)
		content.Write(padded(f.content))
	}
	if short.Len() > sectorSize || long.Len() > sectorSize {
		return nil, fmt.Errorf("%d files are more than the folder of a seed holds", len(files))
	}
	sectors := uint32(firstFileSector + content.Len()/sectorSize)
	image := bytes.NewBuffer(make([]byte, 16*sectorSize))
	image.Write(description(1, label, sectors, primaryPathL, primaryFolder))
	image.Write(description(2, label, sectors, jolietPathL, jolietFolder))
	image.Write(padded([]byte("\xffCD001\x01")))
	for _, folder := range []uint32{primaryFolder, jolietFolder} {
		image.Write(pathTable(binary.LittleEndian, folder))
		image.Write(pathTable(binary.BigEndian, folder))
	}
	image.Write(padded(short.Bytes()))
	image.Write(padded(long.Bytes()))
	image.Write(content.Bytes())
	return image.Bytes(), nil
}

// writeFolders begins both folders with themselves and their parents.
func writeFolders(short *bytes.Buffer, shortSector uint32, long *bytes.Buffer, longSector uint32) {
	for _, name := range []byte{0, 1} {
		writeEntry(short, []byte{name}, shortSector, sectorSize, isFolder)
		writeEntry(long, []byte{name}, longSector, sectorSize, isFolder)
	}
}

const isFolder = 2

// writeEntry writes one record of a folder. Its length is even.
func writeEntry(folder *bytes.Buffer, name []byte, sector, size uint32, flags byte) {
	length := 33 + len(name)
	length += length % 2
	entry := bytes.NewBuffer(make([]byte, 0, length))
	entry.Write([]byte{byte(length), 0})
	writeBoth32(entry, sector)
	writeBoth32(entry, size)
	entry.Write(make([]byte, 7)) // no time
	entry.Write([]byte{flags, 0, 0})
	writeBoth16(entry, 1)
	entry.WriteByte(byte(len(name)))
	entry.Write(name)
	folder.Write(entry.Bytes())
	folder.Write(make([]byte, length-entry.Len()))
}

// pathTable has the one folder that there is.
func pathTable(order binary.ByteOrder, folder uint32) []byte {
	table := make([]byte, pathTableSize)
	table[0] = 1 // length of its name
	order.PutUint32(table[2:], folder)
	order.PutUint16(table[6:], 1)
	return padded(table)
}

const pathTableSize = 10

// description is a volume descriptor: kind 1 is the old form, 2 is Joliet's.
func description(kind byte, label string, sectors, pathSector, folderSector uint32) []byte {
	d := bytes.NewBuffer(make([]byte, 0, sectorSize))
	text := func(value string, size int) {
		if kind == 2 {
			encoded := utf16BE(value)
			d.Write(encoded)
			for range (size - len(encoded)) / 2 {
				d.Write([]byte{0, ' '})
			}
			d.Write(make([]byte, (size-len(encoded))%2))
			return
		}
		d.WriteString(value + strings.Repeat(" ", size-len(value)))
	}
	d.WriteByte(kind)
	d.WriteString("CD001\x01\x00")
	text("", 32)
	text(label, 32)
	d.Write(make([]byte, 8))
	writeBoth32(d, sectors)
	escapes := make([]byte, 32)
	if kind == 2 {
		copy(escapes, "%/E") // names are UCS-2
	}
	d.Write(escapes)
	writeBoth16(d, 1) // volumes
	writeBoth16(d, 1) // number of this one
	writeBoth16(d, sectorSize)
	writeBoth32(d, pathTableSize)
	var place [16]byte
	binary.LittleEndian.PutUint32(place[0:], pathSector)
	binary.BigEndian.PutUint32(place[8:], pathSector+1)
	d.Write(place[:])
	writeEntry(d, []byte{0}, folderSector, sectorSize, isFolder)
	for _, size := range []int{128, 128, 128, 128, 37, 37, 37} { // who made it, and from what
		text("", size)
	}
	for range 4 { // when: not said
		d.WriteString(strings.Repeat("0", 16) + "\x00")
	}
	d.Write([]byte{1, 0})
	return padded(d.Bytes())
}

func utf16BE(text string) []byte {
	var encoded []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		encoded = binary.BigEndian.AppendUint16(encoded, unit)
	}
	return encoded
}

func writeBoth32(to *bytes.Buffer, value uint32) {
	to.Write(binary.LittleEndian.AppendUint32(nil, value))
	to.Write(binary.BigEndian.AppendUint32(nil, value))
}

func writeBoth16(to *bytes.Buffer, value uint16) {
	to.Write(binary.LittleEndian.AppendUint16(nil, value))
	to.Write(binary.BigEndian.AppendUint16(nil, value))
}

// padded fills the last sector.
func padded(content []byte) []byte {
	whole := (len(content) + sectorSize - 1) / sectorSize * sectorSize
	return append(slices.Clip(content), make([]byte, whole-len(content))...)
}
