package ec2sim

import (
	"maps"
	"strings"
)

// template is a launch template of one version: parameters of RunInstances.
type template struct {
	ID, Name   string
	parameters form
}

// AddLaunchTemplate keeps parameters of RunInstances, named as in a request,
// under an id such as "lt-0a000000000000001" and a name. It has version 1.
func (s *Simulator) AddLaunchTemplate(id, name string, parameters map[string]string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.world.templates = append(s.world.templates, &template{id, name, maps.Clone(parameters)})
}

// expanded gives the request with what its launch template adds. A parameter
// that the request has takes the place of the template's, with all below it.
func (s *Simulator) expanded(request form) (form, *apiError) {
	id, name := request["LaunchTemplate.LaunchTemplateId"], request["LaunchTemplate.LaunchTemplateName"]
	if id == "" && name == "" {
		return request, nil
	}
	if id != "" && name != "" {
		return nil, refuse(400, "InvalidParameterCombination", "A launch template is named by its id or its name, not by both")
	}
	for _, one := range s.world.templates {
		if one.ID != id && one.Name != name {
			continue
		}
		if version := request["LaunchTemplate.Version"]; version != "" && version != "1" && !strings.HasPrefix(version, "$") {
			return nil, refuse(400, "InvalidLaunchTemplateId.VersionNotFound", "Could not find launch template version %s of %s", version, one.ID)
		}
		joined := maps.Clone(request)
		given := map[string]bool{}
		for parameter := range request {
			given[firstPart(parameter)] = true
		}
		for parameter, value := range one.parameters {
			if !given[firstPart(parameter)] {
				joined[parameter] = value
			}
		}
		return joined, nil
	}
	if id != "" {
		return nil, refuse(400, "InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist.", id)
	}
	return nil, refuse(400, "InvalidLaunchTemplateName.NotFoundException", "The specified launch template, with template name %s, does not exist.", name)
}
