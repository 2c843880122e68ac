package main

import (
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"throughline/interop/program"
)

// view is what a caller has seen of a task, folded from events.
type view struct {
	taskID, contextID string
	state             a2a.TaskState
	artifacts         []*a2a.Artifact
	message           string
	chunks            int
}

func (v *view) fold(event a2a.Event) {
	info := event.TaskInfo()
	v.taskID, v.contextID = string(info.TaskID), info.ContextID
	switch event := event.(type) {
	case *a2a.Message:
		v.message = textOf(event.Parts)
	case *a2a.Task:
		v.state, v.artifacts = event.Status.State, event.Artifacts
	case *a2a.TaskStatusUpdateEvent:
		v.state = event.Status.State
	case *a2a.TaskArtifactUpdateEvent:
		v.chunks++
		v.put(event)
	}
}

func (v *view) put(event *a2a.TaskArtifactUpdateEvent) {
	for i, known := range v.artifacts {
		if known.ID != event.Artifact.ID {
			continue
		}
		if event.Append {
			known.Parts = append(known.Parts, event.Artifact.Parts...)
		} else {
			v.artifacts[i] = event.Artifact
		}
		return
	}
	v.artifacts = append(v.artifacts, event.Artifact)
}

func (v *view) report() program.Report {
	report := program.Report{OK: true, State: string(v.state), Message: v.message, TaskID: v.taskID, ContextID: v.contextID}
	for _, artifact := range v.artifacts {
		report.Artifacts = append(report.Artifacts, textOf(artifact.Parts))
	}
	return report
}

func textOf(parts a2a.ContentParts) string {
	var text strings.Builder
	for _, part := range parts {
		text.WriteString(part.Text())
	}
	return text.String()
}
