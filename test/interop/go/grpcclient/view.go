package main

import (
	"strings"

	pb "throughline/interop/a2apb"
	"throughline/interop/program"
)

// view is what a caller has seen of a task, folded from events.
type view struct {
	task    *pb.Task
	message *pb.Message
	chunks  int
}

func (v *view) fold(event *pb.StreamResponse) {
	switch payload := event.Payload.(type) {
	case *pb.StreamResponse_Message:
		v.message = payload.Message
	case *pb.StreamResponse_Task:
		v.task = payload.Task
	case *pb.StreamResponse_StatusUpdate:
		v.task.Status = payload.StatusUpdate.Status
	case *pb.StreamResponse_ArtifactUpdate:
		v.chunks++
		v.put(payload.ArtifactUpdate)
	}
}

func (v *view) put(event *pb.TaskArtifactUpdateEvent) {
	for i, known := range v.task.Artifacts {
		if known.ArtifactId != event.Artifact.ArtifactId {
			continue
		}
		if event.Append {
			known.Parts = append(known.Parts, event.Artifact.Parts...)
		} else {
			v.task.Artifacts[i] = event.Artifact
		}
		return
	}
	v.task.Artifacts = append(v.task.Artifacts, event.Artifact)
}

func (v *view) report() program.Report {
	if v.message != nil {
		return program.Report{OK: true, Message: textOf(v.message.Parts)}
	}
	report := program.Report{OK: true, State: v.task.GetStatus().GetState().String(), TaskID: v.task.GetId(), ContextID: v.task.GetContextId()}
	for _, artifact := range v.task.GetArtifacts() {
		report.Artifacts = append(report.Artifacts, textOf(artifact.Parts))
	}
	return report
}

func textOf(parts []*pb.Part) string {
	var text strings.Builder
	for _, part := range parts {
		text.WriteString(part.GetText())
	}
	return text.String()
}
