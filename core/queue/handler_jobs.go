package queue

import "net/http"

func (s *Server) submit(w http.ResponseWriter, r *http.Request) (int, any, error) {
	var body Submission
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	job, err := s.queue.Submit(body)
	if err != nil {
		return 0, nil, err
	}
	w.Header().Set("Location", "/v1/jobs/"+job.ID)
	return http.StatusCreated, job, nil
}

func (s *Server) jobs(w http.ResponseWriter, r *http.Request) (int, any, error) {
	jobs := s.queue.List()
	if notModified(w, r, jobs.Revision) {
		return http.StatusNotModified, nil, nil
	}
	return http.StatusOK, jobs, nil
}

func (s *Server) job(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	job, err := s.queue.Job(r.PathValue("job"))
	return http.StatusOK, job, err
}

func (s *Server) log(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	tail, err := s.queue.Tail(r.PathValue("job"))
	return http.StatusOK, tail, err
}

func (s *Server) cancel(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	job, err := s.queue.Cancel(r.PathValue("job"))
	return http.StatusOK, job, err
}
