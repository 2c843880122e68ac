package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	pb "throughline/interop/a2apb"
)

// work is one turn of the agent: it does what the first word says.
func work(t *task, text string) {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "echo":
		say(t, rest)
	case "stream":
		var n, ms int
		_, _ = fmt.Sscan(rest, &n, &ms)
		t.become(pb.TaskState_TASK_STATE_WORKING, nil)
		for i := 1; i <= n; i++ {
			t.write(fmt.Sprintf("c%d ", i), i == n)
			if !pause(t.ctx, time.Duration(ms)*time.Millisecond) {
				return
			}
		}
		t.become(pb.TaskState_TASK_STATE_COMPLETED, nil)
	case "ask":
		t.become(pb.TaskState_TASK_STATE_INPUT_REQUIRED, agentSays("Which one?"))
	case "slow":
		t.become(pb.TaskState_TASK_STATE_WORKING, nil)
		if pause(t.ctx, time.Minute) {
			t.become(pb.TaskState_TASK_STATE_COMPLETED, nil)
		}
	case "fail":
		t.become(pb.TaskState_TASK_STATE_FAILED, agentSays("As you wish"))
	default:
		t.become(pb.TaskState_TASK_STATE_REJECTED, agentSays("What is "+word+"?"))
	}
}

func say(t *task, text string) {
	t.write(text, true)
	t.become(pb.TaskState_TASK_STATE_COMPLETED, nil)
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func agentSays(text string) *pb.Message {
	return &pb.Message{MessageId: uuid.NewString(), Role: pb.Role_ROLE_AGENT, Parts: []*pb.Part{textPart(text)}}
}

func textPart(text string) *pb.Part { return &pb.Part{Content: &pb.Part_Text{Text: text}} }

func textOf(parts []*pb.Part) string {
	var text strings.Builder
	for _, part := range parts {
		text.WriteString(part.GetText())
	}
	return text.String()
}
