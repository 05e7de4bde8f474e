package queue

import (
	"context"
	"net/http"
)

func (s *Server) submit(_ context.Context, in *jobBody) (*answer[Job], error) {
	var body Submission
	if err := decode(in.RawBody, &body); err != nil {
		return nil, err
	}
	job, err := s.queue.Submit(body)
	return &answer[Job]{Status: http.StatusCreated, Location: "/v1/jobs/" + job.ID, Body: job}, err
}

func (s *Server) jobs(_ context.Context, in *listInput) (*listAnswer[Jobs], error) {
	jobs := s.queue.List()
	return asOf(in, jobs.Revision, jobs), nil
}

func (s *Server) job(_ context.Context, in *jobInput) (*answer[Job], error) {
	job, err := s.queue.Job(in.Job)
	return &answer[Job]{Status: http.StatusOK, Body: job}, err
}

func (s *Server) log(_ context.Context, in *jobInput) (*textAnswer, error) {
	tail, err := s.queue.Tail(in.Job)
	return &textAnswer{ContentType: "text/plain; charset=utf-8", Options: "nosniff", Body: []byte(tail)}, err
}

func (s *Server) cancel(_ context.Context, in *jobInput) (*answer[Job], error) {
	job, err := s.queue.Cancel(in.Job)
	return &answer[Job]{Status: http.StatusOK, Body: job}, err
}
