package libvirt

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// The procedures of libvirt's protocol that change something.
const (
	procCreate       = 9
	procVolumeCreate = 93
	procVolumeDelete = 94
	procUpload       = 208
	procUndefine     = 231
	procDestroy      = 234
	procShutdown     = 258
	procMark         = 264
	procDefine       = 350
)

// fault is what becomes of one call.
type fault int

const (
	neverSent  fault = iota + 1 // the connection ends, and the daemon hears nothing
	answerLost                  // the daemon does it, and the connection ends before its answer
	answerLate                  // the daemon does it, and its answer waits until it is let go
)

// troubled is a way to the daemon on which calls meet faults.
type troubled struct {
	socket string
	letGo  chan struct{} // closed: answers that were late come

	mutex  sync.Mutex
	faults map[uint32]fault // by procedure: of its next call
	met    int
}

// troubledWay listens beside the daemon's own socket.
func (l *lab) troubledWay(t *testing.T) *troubled {
	t.Helper()
	w := &troubled{socket: filepath.Join(l.dir, "way"), letGo: make(chan struct{}), faults: map[uint32]fault{}}
	listener, err := net.Listen("unix", w.socket)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { w.carry(client, l.socket()) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		_ = os.Remove(w.socket)
	})
	return w
}

// meet has the next call of the procedure meet the fault.
func (w *troubled) meet(procedure uint32, f fault) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.faults = map[uint32]fault{procedure: f}
	w.met = 0
}

func (w *troubled) hasMet() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.met > 0
}

// fate is that of one call, which is met once.
func (w *troubled) fate(procedure uint32) fault {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	f := w.faults[procedure]
	if f != 0 {
		delete(w.faults, procedure)
		w.met++
	}
	return f
}

// carry carries packets both ways. A packet begins with its length and then
// program, version, procedure, type, serial and status, four bytes each.
func (w *troubled) carry(client net.Conn, socket string) {
	defer client.Close()
	server, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer server.Close()
	var mutex sync.Mutex
	fates := map[uint32]fault{} // by serial: what becomes of its answer
	go func() {
		defer client.Close()
		for {
			packet, err := readPacket(server)
			if err != nil {
				return
			}
			mutex.Lock()
			fate := fates[binary.BigEndian.Uint32(packet[20:])]
			mutex.Unlock()
			switch fate {
			case answerLost:
				return
			case answerLate:
				<-w.letGo
			}
			if _, err := client.Write(packet); err != nil {
				return
			}
		}
	}()
	for {
		packet, err := readPacket(client)
		if err != nil {
			return
		}
		isCall := binary.BigEndian.Uint32(packet[16:]) == 0
		if fate := w.fate(binary.BigEndian.Uint32(packet[12:])); isCall && fate != 0 {
			if fate == neverSent {
				return
			}
			mutex.Lock()
			fates[binary.BigEndian.Uint32(packet[20:])] = fate
			mutex.Unlock()
		}
		if _, err := server.Write(packet); err != nil {
			return
		}
	}
}

func readPacket(from io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return nil, err
	}
	packet := make([]byte, binary.BigEndian.Uint32(length[:]))
	copy(packet, length[:])
	_, err := io.ReadFull(from, packet[4:])
	return packet, err
}
