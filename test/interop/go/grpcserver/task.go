package main

import (
	"context"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "throughline/interop/a2apb"
)

// task is a task and the events that made it, so that any number of readers follow it from where they stand.
type task struct {
	ctx  context.Context // of its turns
	stop context.CancelFunc

	mu      sync.Mutex
	state   *pb.Task
	events  []*pb.StreamResponse
	changed chan struct{} // closed by the next event
}

func newTask(id, contextID string) *task {
	ctx, stop := context.WithCancel(context.Background())
	return &task{
		ctx:     ctx,
		stop:    stop,
		state:   &pb.Task{Id: id, ContextId: contextID, Status: status(pb.TaskState_TASK_STATE_SUBMITTED, nil)},
		changed: make(chan struct{}),
	}
}

func status(state pb.TaskState, message *pb.Message) *pb.TaskStatus {
	return &pb.TaskStatus{State: state, Message: message, Timestamp: timestamppb.Now()}
}

// asEvent is the task as it stands, and the index of the event that comes next.
func (t *task) asEvent() (*pb.Task, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return proto.Clone(t.state).(*pb.Task), len(t.events)
}

// next waits for events from an index on. It answers none where the task is at rest after those before the index.
func (t *task) next(ctx context.Context, from int, atRest func(pb.TaskState) bool) ([]*pb.StreamResponse, error) {
	for {
		t.mu.Lock()
		events, state, changed := t.events[from:], t.state.Status.State, t.changed
		t.mu.Unlock()
		if len(events) > 0 || atRest(state) {
			return events, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		}
	}
}

// received adds a caller's message.
func (t *task) received(message *pb.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.History = append(t.state.History, message)
}

// become sets the state, unless the task is over.
func (t *task) become(state pb.TaskState, message *pb.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if terminal(t.state.Status.State) {
		return
	}
	t.state.Status = status(state, message)
	t.publish(&pb.StreamResponse{Payload: &pb.StreamResponse_StatusUpdate{StatusUpdate: &pb.TaskStatusUpdateEvent{
		TaskId: t.state.Id, ContextId: t.state.ContextId, Status: t.state.Status,
	}}})
}

// write adds text to the task's one artifact.
func (t *task) write(text string, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if terminal(t.state.Status.State) {
		return
	}
	chunk := &pb.Artifact{ArtifactId: "text", Parts: []*pb.Part{textPart(text)}}
	more := len(t.state.Artifacts) > 0
	if more {
		known := t.state.Artifacts[0]
		known.Parts = append(known.Parts, chunk.Parts...)
	} else {
		t.state.Artifacts = []*pb.Artifact{proto.Clone(chunk).(*pb.Artifact)}
	}
	t.publish(&pb.StreamResponse{Payload: &pb.StreamResponse_ArtifactUpdate{ArtifactUpdate: &pb.TaskArtifactUpdateEvent{
		TaskId: t.state.Id, ContextId: t.state.ContextId, Artifact: chunk, Append: more, LastChunk: last,
	}}})
}

func (t *task) publish(event *pb.StreamResponse) {
	t.events = append(t.events, event)
	close(t.changed)
	t.changed = make(chan struct{})
}

func terminal(state pb.TaskState) bool {
	switch state {
	case pb.TaskState_TASK_STATE_COMPLETED, pb.TaskState_TASK_STATE_FAILED,
		pb.TaskState_TASK_STATE_CANCELED, pb.TaskState_TASK_STATE_REJECTED:
		return true
	}
	return false
}

func waits(state pb.TaskState) bool {
	return terminal(state) || state == pb.TaskState_TASK_STATE_INPUT_REQUIRED
}
