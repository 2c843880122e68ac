package main

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

const artifactID = a2a.ArtifactID("bench")

// benchAgent emits as many updates as the message asks for.
type benchAgent struct{}

func (benchAgent) Execute(ctx context.Context, request *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		turn := turn{ctx, request, yield}
		s := parse(textOf(request.Message))
		_ = turn.wait(s.silent) &&
			turn.emit(a2a.NewSubmittedTask(request, request.Message)) &&
			turn.status(a2a.TaskStateWorking, "") &&
			turn.wait(s.start) &&
			turn.updates(s) &&
			turn.wait(s.hold) &&
			turn.status(a2a.TaskStateCompleted, "")
	}
}

func (benchAgent) Cancel(_ context.Context, request *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(request, a2a.TaskStateCanceled, nil), nil)
	}
}

// turn is one run of the agent. Its methods answer whether the run is to go on.
type turn struct {
	ctx     context.Context
	request *a2asrv.ExecutorContext
	yield   func(a2a.Event, error) bool
}

func (t turn) emit(event a2a.Event) bool { return t.yield(event, nil) }

func (t turn) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	select {
	case <-t.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (t turn) status(state a2a.TaskState, text string) bool {
	var message *a2a.Message
	if text != "" {
		message = a2a.NewMessageForTask(a2a.MessageRoleAgent, t.request, a2a.NewTextPart(text))
	}
	return t.emit(a2a.NewStatusUpdateEvent(t.request, state, message))
}

// updates emits those of the script; the time that this takes is not added to its pace.
func (t turn) updates(s script) bool {
	due := time.Now()
	for index := range s.events {
		if index > 0 && s.delay > 0 {
			due = due.Add(s.delay)
			if !t.wait(time.Until(due)) {
				return false
			}
		}
		text := updateText(s.bytes)
		if s.status {
			if !t.status(a2a.TaskStateWorking, text) {
				return false
			}
			continue
		}
		chunk := a2a.NewArtifactUpdateEvent(t.request, artifactID, a2a.NewTextPart(text))
		chunk.Append, chunk.LastChunk = index > 0, index == s.events-1
		if !t.emit(chunk) {
			return false
		}
	}
	return true
}

func textOf(message *a2a.Message) string {
	var text strings.Builder
	for _, part := range message.Parts {
		text.WriteString(part.Text())
	}
	return text.String()
}
