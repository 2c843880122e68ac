package main

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// wordAgent does what the first word of a message says.
type wordAgent struct{}

func (wordAgent) Execute(ctx context.Context, request *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		turn := turn{ctx, request, yield}
		text := textOf(request.Message)
		word, rest, _ := strings.Cut(text, " ")
		if request.StoredTask != nil {
			_ = turn.artifact(text) && turn.status(a2a.TaskStateCompleted, "")
			return
		}
		if word == "message" {
			turn.emit(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(rest)))
			return
		}
		if !turn.emit(a2a.NewSubmittedTask(request, request.Message)) {
			return
		}
		switch word {
		case "echo":
			_ = turn.artifact(rest) && turn.status(a2a.TaskStateCompleted, "")
		case "stream":
			turn.stream(rest)
		case "ask":
			turn.status(a2a.TaskStateInputRequired, "Which one?")
		case "slow":
			_ = turn.status(a2a.TaskStateWorking, "") && turn.wait(time.Minute) && turn.status(a2a.TaskStateCompleted, "")
		case "fail":
			turn.status(a2a.TaskStateFailed, "As you wish")
		default:
			turn.status(a2a.TaskStateRejected, "What is "+word+"?")
		}
	}
}

func (wordAgent) Cancel(_ context.Context, request *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
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

func (t turn) artifact(text string) bool {
	return t.emit(a2a.NewArtifactEvent(t.request, a2a.NewTextPart(text)))
}

func (t turn) status(state a2a.TaskState, text string) bool {
	var message *a2a.Message
	if text != "" {
		message = a2a.NewMessageForTask(a2a.MessageRoleAgent, t.request, a2a.NewTextPart(text))
	}
	return t.emit(a2a.NewStatusUpdateEvent(t.request, state, message))
}

func (t turn) wait(d time.Duration) bool {
	select {
	case <-t.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (t turn) stream(args string) {
	var n, ms int
	_, _ = fmt.Sscan(args, &n, &ms)
	if !t.status(a2a.TaskStateWorking, "") {
		return
	}
	id := a2a.NewArtifactID()
	for i := 1; i <= n; i++ {
		chunk := a2a.NewArtifactUpdateEvent(t.request, id, a2a.NewTextPart(fmt.Sprintf("c%d ", i)))
		chunk.Append, chunk.LastChunk = i > 1, i == n
		if !t.emit(chunk) || !t.wait(time.Duration(ms)*time.Millisecond) {
			return
		}
	}
	t.status(a2a.TaskStateCompleted, "")
}

func textOf(message *a2a.Message) string {
	var text strings.Builder
	for _, part := range message.Parts {
		text.WriteString(part.Text())
	}
	return text.String()
}
