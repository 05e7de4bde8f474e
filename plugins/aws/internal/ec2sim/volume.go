package ec2sim

import (
	"time"
)

// volume is a disk. One that outlives its instance has none.
type volume struct {
	number             int
	ID                 string
	disk               disk
	device             string
	zone               zone
	snapshot           string
	created            time.Time
	instance           *instance
	deleteWithInstance bool
	tags               map[string]string
}

func (v *volume) sequence() int { return v.number }

func (w *world) addVolume(now time.Time, of *instance, disk disk, tags map[string]string) {
	number := w.next()
	one := &volume{number: number, ID: w.id("vol", number), disk: disk, device: disk.device, zone: of.subnet.Zone,
		created: now, instance: of, deleteWithInstance: disk.deleted, tags: copyTags(tags)}
	if disk.device == of.image.RootDevice {
		one.snapshot = of.image.RootSnapshot
	}
	w.volumes = append(w.volumes, one)
	of.volumes = append(of.volumes, one)
}

func (w *world) removeVolume(one *volume) { w.volumes = without(w.volumes, one) }

func (v *volume) state() string {
	if v.instance == nil {
		return "available"
	}
	return "in-use"
}

type volumesAnswer struct {
	header
	Volumes   []volumeXML `xml:"volumeSet>item"`
	NextToken string      `xml:"nextToken,omitempty"`
}

type volumeXML struct {
	ID          string                `xml:"volumeId"`
	Size        int                   `xml:"size"`
	Snapshot    string                `xml:"snapshotId"`
	Zone        string                `xml:"availabilityZone"`
	Status      string                `xml:"status"`
	Created     string                `xml:"createTime"`
	Attachments []volumeAttachmentXML `xml:"attachmentSet>item"`
	Tags        []tagXML              `xml:"tagSet>item"`
	Type        string                `xml:"volumeType"`
	IOPS        int                   `xml:"iops,omitempty"`
	Throughput  int                   `xml:"throughput,omitempty"`
	Encrypted   bool                  `xml:"encrypted"`
	Key         string                `xml:"kmsKeyId,omitempty"`
}

type volumeAttachmentXML struct {
	Volume   string `xml:"volumeId"`
	Instance string `xml:"instanceId"`
	Device   string `xml:"device"`
	Status   string `xml:"status"`
	Time     string `xml:"attachTime"`
	Deleted  bool   `xml:"deleteOnTermination"`
}

var volumeFilters = attributes[*volume]{
	"volume-id":         func(v *volume) []string { return []string{v.ID} },
	"status":            func(v *volume) []string { return []string{v.state()} },
	"availability-zone": func(v *volume) []string { return []string{v.zone.Name} },
	"volume-type":       func(v *volume) []string { return []string{v.disk.kind} },
	"attachment.instance-id": func(v *volume) []string {
		if v.instance != nil {
			return []string{v.instance.ID}
		}
		return nil
	},
}

func (s *Simulator) describeVolumes(_ time.Time, request form) (answer, *apiError) {
	named, refusal := pick(request.texts("VolumeId"), s.world.volumes, func(v *volume) string {
		return v.ID
	}, "vol-", "InvalidVolume", "volume")
	if refusal != nil {
		return nil, refusal
	}
	shown, token, refusal := show(s, "DescribeVolumes", request, named, volumeFilters, func(v *volume) map[string]string {
		return v.tags
	}, 5, 1000)
	if refusal != nil {
		return nil, refusal
	}
	answer := &volumesAnswer{NextToken: token}
	for _, one := range shown {
		answer.Volumes = append(answer.Volumes, one.write())
	}
	return answer, nil
}

func (v *volume) write() volumeXML {
	written := volumeXML{ID: v.ID, Size: v.disk.size, Snapshot: v.snapshot, Zone: v.zone.Name, Status: v.state(),
		Created: wireTime(v.created),
		Tags:    writeTags(v.tags), Type: v.disk.kind, IOPS: v.disk.iops, Throughput: v.disk.throughput,
		Encrypted: v.disk.encrypted, Key: v.disk.key}
	if v.instance != nil {
		written.Attachments = []volumeAttachmentXML{
			{v.ID, v.instance.ID, v.device, "attached", wireTime(v.created), v.deleteWithInstance}}
	}
	return written
}

type doneAnswer struct {
	header
	Done bool `xml:"return"`
}

func (s *Simulator) deleteVolume(_ time.Time, request form) (answer, *apiError) {
	ids := []string{request["VolumeId"]}
	named, refusal := pick(ids, s.world.volumes, func(v *volume) string { return v.ID }, "vol-", "InvalidVolume", "volume")
	if refusal != nil {
		return nil, refusal
	}
	if one := named[0]; one.instance != nil {
		return nil, refuse(400, "VolumeInUse", "Volume %s is currently attached to %s", one.ID, one.instance.ID)
	}
	s.world.removeVolume(named[0])
	return &doneAnswer{Done: true}, nil
}
