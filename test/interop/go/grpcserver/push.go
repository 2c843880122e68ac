package main

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/emptypb"

	pb "throughline/interop/a2apb"
)

// pushConfigs keeps webhooks, and calls none.
type pushConfigs struct {
	pb.UnimplementedA2AServiceServer

	mu   sync.Mutex
	kept []*pb.TaskPushNotificationConfig
}

func (p *pushConfigs) CreateTaskPushNotificationConfig(_ context.Context, config *pb.TaskPushNotificationConfig) (*pb.TaskPushNotificationConfig, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if config.Id == "" {
		config.Id = uuid.NewString()
	}
	p.kept = append(p.kept, config)
	return config, nil
}

func (p *pushConfigs) GetTaskPushNotificationConfig(_ context.Context, req *pb.GetTaskPushNotificationConfigRequest) (*pb.TaskPushNotificationConfig, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, config := range p.kept {
		if config.TaskId == req.TaskId && config.Id == req.Id {
			return config, nil
		}
	}
	return nil, refused(codes.NotFound, "TASK_NOT_FOUND", "no config "+req.Id)
}

func (p *pushConfigs) ListTaskPushNotificationConfigs(_ context.Context, req *pb.ListTaskPushNotificationConfigsRequest) (*pb.ListTaskPushNotificationConfigsResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	response := &pb.ListTaskPushNotificationConfigsResponse{}
	for _, config := range p.kept {
		if config.TaskId == req.TaskId {
			response.Configs = append(response.Configs, config)
		}
	}
	return response, nil
}

func (p *pushConfigs) DeleteTaskPushNotificationConfig(_ context.Context, req *pb.DeleteTaskPushNotificationConfigRequest) (*emptypb.Empty, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = slices.DeleteFunc(p.kept, func(config *pb.TaskPushNotificationConfig) bool {
		return config.TaskId == req.TaskId && config.Id == req.Id
	})
	return &emptypb.Empty{}, nil
}
