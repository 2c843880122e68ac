package main

import (
	"context"
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"throughline/interop/program"
)

func request(text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))}
}

func send(ctx context.Context, client *a2aclient.Client, args []string) (program.Report, error) {
	req := request(args[0])
	if len(args) > 2 {
		req.Message.TaskID, req.Message.ContextID = a2a.TaskID(args[1]), args[2]
	}
	result, err := client.SendMessage(ctx, req)
	if err != nil {
		return program.Report{}, err
	}
	var seen view
	seen.fold(result)
	return seen.report(), nil
}

func stream(ctx context.Context, client *a2aclient.Client, text string) (program.Report, error) {
	var seen view
	for event, err := range client.SendStreamingMessage(ctx, request(text)) {
		if err != nil {
			return program.Report{}, err
		}
		seen.fold(event)
	}
	return seen.report(), nil
}

func resume(ctx context.Context, client *a2aclient.Client, text string, reopen func() (*a2aclient.Client, error)) (program.Report, error) {
	var seen view
	for event, err := range client.SendStreamingMessage(ctx, request(text)) {
		if err != nil {
			return program.Report{}, err
		}
		if seen.fold(event); seen.chunks == 2 {
			break
		}
	}
	if err := client.Destroy(); err != nil {
		return program.Report{}, err
	}
	client, err := reopen()
	if err != nil {
		return program.Report{}, err
	}
	for event, err := range client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: a2a.TaskID(seen.taskID)}) {
		if err != nil {
			return program.Report{}, err
		}
		seen.fold(event)
	}
	return seen.report(), nil
}

func cancelSlow(ctx context.Context, client *a2aclient.Client) (program.Report, error) {
	req := request("slow")
	req.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	result, err := client.SendMessage(ctx, req)
	if err != nil {
		return program.Report{}, err
	}
	task, err := client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: result.TaskInfo().TaskID})
	if err != nil {
		return program.Report{}, err
	}
	var seen view
	seen.fold(task)
	return seen.report(), nil
}

func list(ctx context.Context, client *a2aclient.Client, contextID string) (program.Report, error) {
	response, err := client.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: contextID})
	if err != nil {
		return program.Report{}, err
	}
	report := program.Report{OK: true}
	for _, task := range response.Tasks {
		report.IDs = append(report.IDs, string(task.ID))
	}
	return report, nil
}

func push(ctx context.Context, client *a2aclient.Client, task a2a.TaskID) (program.Report, error) {
	created, err := client.CreateTaskPushConfig(ctx, &a2a.PushConfig{TaskID: task, URL: "https://example.com/hook"})
	if err != nil {
		return program.Report{}, err
	}
	got, err := client.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: task, ID: created.ID})
	if err != nil {
		return program.Report{}, err
	}
	if got.URL != created.URL {
		return program.Report{}, errors.New("another URL came back: " + got.URL)
	}
	configs, err := client.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: task})
	if err != nil {
		return program.Report{}, err
	}
	report := program.Report{OK: true}
	for _, config := range configs {
		report.IDs = append(report.IDs, config.ID)
	}
	return report, client.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: task, ID: created.ID})
}
