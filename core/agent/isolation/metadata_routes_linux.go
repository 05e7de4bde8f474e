package isolation

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// metadataAddresses are where clouds tell a host who it is, often with credentials
// and its first-boot document.
var metadataAddresses = []string{
	"169.254.169.254", // most clouds
	"fd00:ec2::254",   // AWS by IPv6
	"169.254.170.2",   // AWS, containers
	"169.254.170.23",  // AWS, EKS pods
	"fd00:ec2::23",    // the same by IPv6
	"fd20:ce::254",    // Google Cloud by IPv6
	"168.63.129.16",   // Azure
	"100.100.100.200", // Alibaba Cloud
	"169.254.42.42",   // Scaleway
	"fd00:42::42",     // the same by IPv6
}

// rulesPriority comes before every routing rule but the one for the host's own
// addresses.
const rulesPriority = 1

// BlockMetadata makes the kernel refuse the metadata addresses to the uid, by
// routing rules, which need no program and no firewall of the host. Rules that are
// there stay as they are. They outlive the agent, so that nothing a job may have
// left gains by its end; the next start of the host forgets them.
//
// Port 53 stays open: on Google Cloud and Azure these very addresses are the
// host's name servers. So does 65535, which a rule can't name.
func BlockMetadata(uid int) error {
	socket, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("open the kernel's routing interface: %w", err)
	}
	defer unix.Close(socket)
	if err := unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		return fmt.Errorf("bound the wait for the kernel's answer: %w", err)
	}
	var all error
	for _, address := range metadataAddresses {
		for _, ports := range [][2]uint16{{1, 52}, {54, 65534}} {
			err := ask(socket, prohibition(netip.MustParseAddr(address), uint32(uid), ports))
			if errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EOPNOTSUPP) {
				break // a kernel without IPv6 has nothing to forbid; the probe shows it
			}
			if err != nil && !errors.Is(err, unix.EEXIST) {
				all = fmt.Errorf("add a routing rule that blocks user %d from %s: %w", uid, address, err)
			}
		}
	}
	return all
}

// prohibition is a request for one rule: RTM_NEWRULE with its attributes.
func prohibition(to netip.Addr, uid uint32, ports [2]uint16) []byte {
	family, bits := byte(unix.AF_INET), byte(32)
	if to.Is6() {
		family, bits = unix.AF_INET6, 128
	}
	order := binary.NativeEndian
	body := []byte{family, bits, 0, 0, 0, 0, 0, unix.FR_ACT_PROHIBIT, 0, 0, 0, 0}
	attribute := func(kind uint16, value []byte) {
		body = order.AppendUint16(body, uint16(4+len(value)))
		body = order.AppendUint16(body, kind)
		body = append(body, value...) // all values are of whole words
	}
	attribute(unix.FRA_DST, to.AsSlice())
	attribute(unix.FRA_PRIORITY, order.AppendUint32(nil, rulesPriority))
	attribute(unix.FRA_UID_RANGE, order.AppendUint32(order.AppendUint32(nil, uid), uid))
	attribute(unix.FRA_DPORT_RANGE, order.AppendUint16(order.AppendUint16(nil, ports[0]), ports[1]))

	message := order.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(body)))
	message = order.AppendUint16(message, unix.RTM_NEWRULE)
	message = order.AppendUint16(message, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	message = order.AppendUint32(message, 1) // one question at a time
	message = order.AppendUint32(message, 0)
	return append(message, body...)
}

// ask sends a request and gives the kernel's answer.
func ask(socket int, message []byte) error {
	if err := unix.Sendto(socket, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(socket, answer, 0)
	if err != nil {
		return err
	}
	if n < unix.NLMSG_HDRLEN+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return errors.New("unexpected answer of the kernel")
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.NLMSG_HDRLEN:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}
