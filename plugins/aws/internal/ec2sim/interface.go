package ec2sim

import "time"

// networkInterface is one interface. One that outlives its instance has none.
type networkInterface struct {
	number             int
	ID, attachment     string
	text, address      string
	subnet             *subnet
	groups             []*securityGroup
	created            time.Time
	instance           *instance
	deleteWithInstance bool
	tags               map[string]string
}

func (n *networkInterface) sequence() int { return n.number }

func (n *networkInterface) status() string {
	if n.instance == nil {
		return "available"
	}
	return "in-use"
}

func (w *world) addInterface(now time.Time, of *instance, tags map[string]string) {
	number := w.next()
	one := &networkInterface{number: number, ID: w.id("eni", number), attachment: w.id("eni-attach", number),
		text: of.settings.interfaceText, address: of.address, subnet: of.subnet, groups: of.groups, created: now,
		instance: of, deleteWithInstance: of.settings.interfaceDeleted, tags: copyTags(tags)}
	of.subnet.Addresses--
	w.interfaces = append(w.interfaces, one)
	of.interfaces = append(of.interfaces, one)
}

func (w *world) removeInterface(one *networkInterface) {
	one.subnet.Addresses++
	w.interfaces = without(w.interfaces, one)
}

type interfacesAnswer struct {
	header
	Interfaces []interfaceXML `xml:"networkInterfaceSet>item"`
	NextToken  string         `xml:"nextToken,omitempty"`
}

type interfaceXML struct {
	ID         string             `xml:"networkInterfaceId"`
	Subnet     string             `xml:"subnetId"`
	VPC        string             `xml:"vpcId"`
	Zone       string             `xml:"availabilityZone"`
	Text       string             `xml:"description"`
	Owner      string             `xml:"ownerId"`
	Managed    bool               `xml:"requesterManaged"`
	Status     string             `xml:"status"`
	Address    string             `xml:"privateIpAddress"`
	Groups     []groupXML         `xml:"groupSet>item"`
	Attachment *faceAttachmentXML `xml:"attachment"`
	Tags       []tagXML           `xml:"tagSet>item"`
	Type       string             `xml:"interfaceType"`
}

type faceAttachmentXML struct {
	ID       string `xml:"attachmentId"`
	Instance string `xml:"instanceId,omitempty"`
	Owner    string `xml:"instanceOwnerId,omitempty"`
	Device   int    `xml:"deviceIndex"`
	Status   string `xml:"status"`
	Time     string `xml:"attachTime"`
	Deleted  bool   `xml:"deleteOnTermination"`
}

var interfaceFilters = attributes[*networkInterface]{
	"network-interface-id": func(n *networkInterface) []string { return []string{n.ID} },
	"status":               func(n *networkInterface) []string { return []string{n.status()} },
	"availability-zone":    func(n *networkInterface) []string { return []string{n.subnet.Zone.Name} },
	"subnet-id":            func(n *networkInterface) []string { return []string{n.subnet.ID} },
	"vpc-id":               func(n *networkInterface) []string { return []string{n.subnet.VPC} },
	"attachment.instance-id": func(n *networkInterface) []string {
		if n.instance != nil {
			return []string{n.instance.ID}
		}
		return nil
	},
}

func (s *Simulator) describeNetworkInterfaces(_ time.Time, request form) (answer, *apiError) {
	named, refusal := s.pickInterfaces(request.texts("NetworkInterfaceId"))
	if refusal != nil {
		return nil, refusal
	}
	shown, token, refusal := show(s, "DescribeNetworkInterfaces", request, named, interfaceFilters,
		func(n *networkInterface) map[string]string {
			return n.tags
		}, 5, 1000)
	if refusal != nil {
		return nil, refusal
	}
	answer := &interfacesAnswer{NextToken: token}
	for _, one := range shown {
		written := interfaceXML{ID: one.ID, Subnet: one.subnet.ID, VPC: one.subnet.VPC, Zone: one.subnet.Zone.Name,
			Text:  one.text,
			Owner: s.options.Account, Status: one.status(), Address: one.address, Groups: writeGroups(one.groups),
			Tags: writeTags(one.tags), Type: "interface"}
		if one.instance != nil {
			written.Attachment = &faceAttachmentXML{one.attachment, one.instance.ID, s.options.Account, 0, "attached",
				wireTime(one.created), one.deleteWithInstance}
		}
		answer.Interfaces = append(answer.Interfaces, written)
	}
	return answer, nil
}

func (s *Simulator) pickInterfaces(ids []string) ([]*networkInterface, *apiError) {
	return pick(ids, s.world.interfaces, func(n *networkInterface) string {
		return n.ID
	}, "eni-", "InvalidNetworkInterfaceID", "networkInterface")
}

func (s *Simulator) deleteNetworkInterface(_ time.Time, request form) (answer, *apiError) {
	named, refusal := s.pickInterfaces([]string{request["NetworkInterfaceId"]})
	if refusal != nil {
		return nil, refusal
	}
	if one := named[0]; one.instance != nil {
		return nil, refuse(400, "InvalidNetworkInterface.InUse", "Network interface '%s' is currently in use.", one.ID)
	}
	s.world.removeInterface(named[0])
	return &doneAnswer{Done: true}, nil
}
