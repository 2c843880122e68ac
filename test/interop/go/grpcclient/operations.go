package main

import (
	"context"
	"errors"
	"io"

	"github.com/google/uuid"
	"google.golang.org/grpc"

	pb "throughline/interop/a2apb"
	"throughline/interop/program"
)

func request(text string) *pb.SendMessageRequest {
	return &pb.SendMessageRequest{Message: &pb.Message{
		MessageId: uuid.NewString(),
		Role:      pb.Role_ROLE_USER,
		Parts:     []*pb.Part{{Content: &pb.Part_Text{Text: text}}},
	}}
}

func send(ctx context.Context, client pb.A2AServiceClient, args []string) (program.Report, error) {
	req := request(args[0])
	if len(args) > 2 {
		req.Message.TaskId, req.Message.ContextId = args[1], args[2]
	}
	response, err := client.SendMessage(ctx, req)
	if err != nil {
		return program.Report{}, err
	}
	if message := response.GetMessage(); message != nil {
		return program.Report{OK: true, Message: textOf(message.Parts)}, nil
	}
	return (&view{task: response.GetTask()}).report(), nil
}

func stream(ctx context.Context, client pb.A2AServiceClient, text string) (program.Report, error) {
	events, err := client.SendStreamingMessage(ctx, request(text))
	if err != nil {
		return program.Report{}, err
	}
	var seen view
	if err := read(events, &seen, toTheEnd); err != nil {
		return program.Report{}, err
	}
	return seen.report(), nil
}

func resume(ctx context.Context, conn *grpc.ClientConn, text, otherCardURL string) (program.Report, error) {
	events, err := pb.NewA2AServiceClient(conn).SendStreamingMessage(ctx, request(text))
	if err != nil {
		return program.Report{}, err
	}
	var seen view
	if err := read(events, &seen, 2); err != nil {
		return program.Report{}, err
	}
	if err := conn.Close(); err != nil {
		return program.Report{}, err
	}
	conn, err = open(otherCardURL)
	if err != nil {
		return program.Report{}, err
	}
	events, err = pb.NewA2AServiceClient(conn).SubscribeToTask(ctx, &pb.SubscribeToTaskRequest{Id: seen.task.Id})
	if err != nil {
		return program.Report{}, err
	}
	if err := read(events, &seen, toTheEnd); err != nil {
		return program.Report{}, err
	}
	return seen.report(), nil
}

const toTheEnd = -1

// read folds events until the view has so many chunks, or the stream ends.
func read(events grpc.ServerStreamingClient[pb.StreamResponse], seen *view, chunks int) error {
	for seen.chunks != chunks {
		event, err := events.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		seen.fold(event)
	}
	return nil
}

func cancelSlow(ctx context.Context, client pb.A2AServiceClient) (program.Report, error) {
	req := request("slow")
	req.Configuration = &pb.SendMessageConfiguration{ReturnImmediately: true}
	response, err := client.SendMessage(ctx, req)
	if err != nil {
		return program.Report{}, err
	}
	task, err := client.CancelTask(ctx, &pb.CancelTaskRequest{Id: response.GetTask().GetId()})
	if err != nil {
		return program.Report{}, err
	}
	return (&view{task: task}).report(), nil
}

func list(ctx context.Context, client pb.A2AServiceClient, contextID string) (program.Report, error) {
	response, err := client.ListTasks(ctx, &pb.ListTasksRequest{ContextId: contextID})
	if err != nil {
		return program.Report{}, err
	}
	report := program.Report{OK: true}
	for _, task := range response.Tasks {
		report.IDs = append(report.IDs, task.Id)
	}
	return report, nil
}

func push(ctx context.Context, client pb.A2AServiceClient, task string) (program.Report, error) {
	created, err := client.CreateTaskPushNotificationConfig(ctx, &pb.TaskPushNotificationConfig{TaskId: task, Url: "https://example.com/hook"})
	if err != nil {
		return program.Report{}, err
	}
	got, err := client.GetTaskPushNotificationConfig(ctx, &pb.GetTaskPushNotificationConfigRequest{TaskId: task, Id: created.Id})
	if err != nil {
		return program.Report{}, err
	}
	if got.Url != created.Url {
		return program.Report{}, errors.New("another URL came back: " + got.Url)
	}
	listed, err := client.ListTaskPushNotificationConfigs(ctx, &pb.ListTaskPushNotificationConfigsRequest{TaskId: task})
	if err != nil {
		return program.Report{}, err
	}
	report := program.Report{OK: true}
	for _, config := range listed.Configs {
		report.IDs = append(report.IDs, config.Id)
	}
	_, err = client.DeleteTaskPushNotificationConfig(ctx, &pb.DeleteTaskPushNotificationConfigRequest{TaskId: task, Id: created.Id})
	return report, err
}
