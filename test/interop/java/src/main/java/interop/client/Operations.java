package interop.client;

import com.google.lf.a2a.v1.A2AServiceGrpc.A2AServiceBlockingStub;
import com.google.lf.a2a.v1.CancelTaskRequest;
import com.google.lf.a2a.v1.DeleteTaskPushNotificationConfigRequest;
import com.google.lf.a2a.v1.GetTaskPushNotificationConfigRequest;
import com.google.lf.a2a.v1.GetTaskRequest;
import com.google.lf.a2a.v1.ListTaskPushNotificationConfigsRequest;
import com.google.lf.a2a.v1.ListTasksRequest;
import com.google.lf.a2a.v1.Message;
import com.google.lf.a2a.v1.Part;
import com.google.lf.a2a.v1.Role;
import com.google.lf.a2a.v1.SendMessageRequest;
import com.google.lf.a2a.v1.SubscribeToTaskRequest;
import com.google.lf.a2a.v1.Task;
import com.google.lf.a2a.v1.TaskPushNotificationConfig;
import java.util.List;
import java.util.UUID;

/** The operations of the program. */
record Operations(A2AServiceBlockingStub agent) {
  Report send(List<String> args) {
    var request = request(args.get(0));
    if (args.size() > 2) request.getMessageBuilder().setTaskId(args.get(1)).setContextId(args.get(2));
    var response = agent.sendMessage(request.build());
    return response.hasMessage() ? Report.ofMessage(response.getMessage()) : Report.ofTask(response.getTask());
  }

  Report stream(String text) {
    var seen = new View();
    agent.sendStreamingMessage(request(text).build()).forEachRemaining(seen::fold);
    return seen.report();
  }

  View streamTwoChunks(String text) {
    var seen = new View();
    var events = agent.sendStreamingMessage(request(text).build());
    while (seen.chunks() < 2 && events.hasNext()) seen.fold(events.next());
    return seen;
  }

  Report subscribe(View seen) {
    var request = SubscribeToTaskRequest.newBuilder().setId(seen.taskId()).build();
    agent.subscribeToTask(request).forEachRemaining(seen::fold);
    return seen.report();
  }

  Report cancel() {
    var request = request("slow");
    request.getConfigurationBuilder().setReturnImmediately(true);
    var id = agent.sendMessage(request.build()).getTask().getId();
    return Report.ofTask(agent.cancelTask(CancelTaskRequest.newBuilder().setId(id).build()));
  }

  Report list(String contextId) {
    var response = agent.listTasks(ListTasksRequest.newBuilder().setContextId(contextId).build());
    return Report.ofIds(response.getTasksList().stream().map(Task::getId).toList());
  }

  Report push(String taskId) {
    var url = "https://example.com/hook";
    var config = TaskPushNotificationConfig.newBuilder().setTaskId(taskId).setUrl(url).build();
    var id = agent.createTaskPushNotificationConfig(config).getId();
    var got = agent.getTaskPushNotificationConfig(
        GetTaskPushNotificationConfigRequest.newBuilder().setTaskId(taskId).setId(id).build());
    if (!got.getUrl().equals(url)) throw new IllegalStateException("another URL came back: " + got.getUrl());
    var listed = agent.listTaskPushNotificationConfigs(
        ListTaskPushNotificationConfigsRequest.newBuilder().setTaskId(taskId).build());
    agent.deleteTaskPushNotificationConfig(
        DeleteTaskPushNotificationConfigRequest.newBuilder().setTaskId(taskId).setId(id).build());
    return Report.ofIds(listed.getConfigsList().stream().map(TaskPushNotificationConfig::getId).toList());
  }

  Report error() {
    return Report.ofTask(agent.getTask(GetTaskRequest.newBuilder().setId(UUID.randomUUID().toString()).build()));
  }

  private static SendMessageRequest.Builder request(String text) {
    return SendMessageRequest.newBuilder().setMessage(Message.newBuilder()
        .setMessageId(UUID.randomUUID().toString())
        .setRole(Role.ROLE_USER)
        .addParts(Part.newBuilder().setText(text)));
  }
}
