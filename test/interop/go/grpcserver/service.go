package main

import (
	"context"
	"strings"
	"sync"

	"github.com/google/uuid"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	pb "throughline/interop/a2apb"
)

// service is A2A over tasks in memory.
type service struct {
	pushConfigs

	mu    sync.Mutex
	tasks []*task
}

func (s *service) SendMessage(ctx context.Context, req *pb.SendMessageRequest) (*pb.SendMessageResponse, error) {
	if reply := directReply(req.Message); reply != nil {
		return &pb.SendMessageResponse{Payload: &pb.SendMessageResponse_Message{Message: reply}}, nil
	}
	t, err := s.begin(req.Message)
	if err != nil {
		return nil, err
	}
	_, at := t.asEvent()
	for !req.Configuration.GetReturnImmediately() {
		events, err := t.next(ctx, at, waits)
		if err != nil {
			return nil, grpcstatus.FromContextError(err).Err()
		}
		if len(events) == 0 {
			break
		}
		at += len(events)
	}
	current, _ := t.asEvent()
	return &pb.SendMessageResponse{Payload: &pb.SendMessageResponse_Task{Task: current}}, nil
}

func (s *service) SendStreamingMessage(req *pb.SendMessageRequest, stream grpc.ServerStreamingServer[pb.StreamResponse]) error {
	if reply := directReply(req.Message); reply != nil {
		return stream.Send(&pb.StreamResponse{Payload: &pb.StreamResponse_Message{Message: reply}})
	}
	t, err := s.begin(req.Message)
	if err != nil {
		return err
	}
	return follow(t, stream, waits)
}

func (s *service) SubscribeToTask(req *pb.SubscribeToTaskRequest, stream grpc.ServerStreamingServer[pb.StreamResponse]) error {
	t, err := s.find(req.Id)
	if err != nil {
		return err
	}
	if current, _ := t.asEvent(); terminal(current.Status.State) {
		return refused(codes.FailedPrecondition, "UNSUPPORTED_OPERATION", "the task is over")
	}
	return follow(t, stream, terminal)
}

func (s *service) GetTask(_ context.Context, req *pb.GetTaskRequest) (*pb.Task, error) {
	t, err := s.find(req.Id)
	if err != nil {
		return nil, err
	}
	current, _ := t.asEvent()
	return current, nil
}

func (s *service) ListTasks(_ context.Context, req *pb.ListTasksRequest) (*pb.ListTasksResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	response := &pb.ListTasksResponse{PageSize: 50}
	for _, t := range s.tasks {
		if current, _ := t.asEvent(); req.ContextId == "" || current.ContextId == req.ContextId {
			response.Tasks = append(response.Tasks, current)
		}
	}
	response.TotalSize = int32(len(response.Tasks))
	return response, nil
}

func (s *service) CancelTask(_ context.Context, req *pb.CancelTaskRequest) (*pb.Task, error) {
	t, err := s.find(req.Id)
	if err != nil {
		return nil, err
	}
	if current, _ := t.asEvent(); terminal(current.Status.State) {
		return nil, refused(codes.FailedPrecondition, "TASK_NOT_CANCELABLE", "the task is over")
	}
	t.stop()
	t.become(pb.TaskState_TASK_STATE_CANCELED, nil)
	current, _ := t.asEvent()
	return current, nil
}

// begin gives a message to its task, or to a new one, and starts the turn.
func (s *service) begin(message *pb.Message) (*task, error) {
	text := textOf(message.Parts)
	if message.TaskId != "" {
		t, err := s.find(message.TaskId)
		if err != nil {
			return nil, err
		}
		t.received(message)
		t.become(pb.TaskState_TASK_STATE_WORKING, nil)
		go say(t, text)
		return t, nil
	}
	contextID := message.ContextId
	if contextID == "" {
		contextID = uuid.NewString()
	}
	t := newTask(uuid.NewString(), contextID)
	t.received(message)
	s.mu.Lock()
	s.tasks = append(s.tasks, t)
	s.mu.Unlock()
	go work(t, text)
	return t, nil
}

func (s *service) find(id string) (*task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tasks {
		if t.state.Id == id {
			return t, nil
		}
	}
	return nil, refused(codes.NotFound, "TASK_NOT_FOUND", "no task "+id)
}

func follow(t *task, stream grpc.ServerStreamingServer[pb.StreamResponse], end func(pb.TaskState) bool) error {
	current, at := t.asEvent()
	if err := stream.Send(&pb.StreamResponse{Payload: &pb.StreamResponse_Task{Task: current}}); err != nil {
		return err
	}
	for {
		events, err := t.next(stream.Context(), at, end)
		if err != nil {
			return grpcstatus.FromContextError(err).Err()
		}
		if len(events) == 0 {
			return nil
		}
		for _, event := range events {
			if err := stream.Send(event); err != nil {
				return err
			}
		}
		at += len(events)
	}
}

func directReply(message *pb.Message) *pb.Message {
	word, rest, _ := strings.Cut(textOf(message.Parts), " ")
	if word != "message" || message.TaskId != "" {
		return nil
	}
	return agentSays(rest)
}

func refused(code codes.Code, reason, why string) error {
	refusal, err := grpcstatus.New(code, why).WithDetails(&errdetails.ErrorInfo{Reason: reason, Domain: "a2a-protocol.org"})
	if err != nil {
		return err
	}
	return refusal.Err()
}
