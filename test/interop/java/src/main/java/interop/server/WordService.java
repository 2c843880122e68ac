package interop.server;

import com.google.lf.a2a.v1.A2AServiceGrpc;
import com.google.lf.a2a.v1.CancelTaskRequest;
import com.google.lf.a2a.v1.DeleteTaskPushNotificationConfigRequest;
import com.google.lf.a2a.v1.GetTaskPushNotificationConfigRequest;
import com.google.lf.a2a.v1.GetTaskRequest;
import com.google.lf.a2a.v1.ListTaskPushNotificationConfigsRequest;
import com.google.lf.a2a.v1.ListTaskPushNotificationConfigsResponse;
import com.google.lf.a2a.v1.ListTasksRequest;
import com.google.lf.a2a.v1.ListTasksResponse;
import com.google.lf.a2a.v1.Message;
import com.google.lf.a2a.v1.SendMessageRequest;
import com.google.lf.a2a.v1.SendMessageResponse;
import com.google.lf.a2a.v1.StreamResponse;
import com.google.lf.a2a.v1.SubscribeToTaskRequest;
import com.google.lf.a2a.v1.Task;
import com.google.lf.a2a.v1.TaskPushNotificationConfig;
import com.google.lf.a2a.v1.TaskState;
import com.google.protobuf.Empty;
import com.google.rpc.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;

/** A2A over tasks in memory. Calls may block: grpc-java runs each in a thread of a growing pool. */
final class WordService extends A2AServiceGrpc.A2AServiceImplBase {
  private final Map<String, WordTask> tasks = new ConcurrentHashMap<>();
  private final Map<String, TaskPushNotificationConfig> configs = new ConcurrentHashMap<>();

  @Override
  public void sendMessage(SendMessageRequest request, StreamObserver<SendMessageResponse> caller) {
    answer(caller, () -> {
      var reply = WordAgent.directReply(request.getMessage());
      if (reply.isPresent()) return SendMessageResponse.newBuilder().setMessage(reply.get()).build();
      var task = begin(request.getMessage());
      if (!request.getConfiguration().getReturnImmediately()) task.follow(event -> {}, WordTask::isAtRest);
      return SendMessageResponse.newBuilder().setTask(task.snapshot()).build();
    });
  }

  @Override
  public void sendStreamingMessage(SendMessageRequest request, StreamObserver<StreamResponse> caller) {
    var reply = WordAgent.directReply(request.getMessage());
    if (reply.isPresent()) answer(caller, () -> StreamResponse.newBuilder().setMessage(reply.get()).build());
    else stream(caller, () -> begin(request.getMessage()), WordTask::isAtRest);
  }

  @Override
  public void subscribeToTask(SubscribeToTaskRequest request, StreamObserver<StreamResponse> caller) {
    stream(caller, () -> running(request.getId(), "UNSUPPORTED_OPERATION"), WordTask::isTerminal);
  }

  @Override
  public void getTask(GetTaskRequest request, StreamObserver<Task> caller) {
    answer(caller, () -> find(request.getId()).snapshot());
  }

  @Override
  public void listTasks(ListTasksRequest request, StreamObserver<ListTasksResponse> caller) {
    answer(caller, () -> {
      var context = request.getContextId();
      var found = tasks.values().stream()
          .map(WordTask::snapshot)
          .filter(task -> context.isEmpty() || task.getContextId().equals(context))
          .toList();
      return ListTasksResponse.newBuilder().addAllTasks(found).setPageSize(50).setTotalSize(found.size()).build();
    });
  }

  @Override
  public void cancelTask(CancelTaskRequest request, StreamObserver<Task> caller) {
    answer(caller, () -> {
      var task = running(request.getId(), "TASK_NOT_CANCELABLE");
      task.cancel();
      return task.snapshot();
    });
  }

  @Override
  public void createTaskPushNotificationConfig(
      TaskPushNotificationConfig request, StreamObserver<TaskPushNotificationConfig> caller) {
    answer(caller, () -> {
      var config = request.getId().isEmpty() ? request.toBuilder().setId(UUID.randomUUID().toString()).build() : request;
      configs.put(key(config.getTaskId(), config.getId()), config);
      return config;
    });
  }

  @Override
  public void getTaskPushNotificationConfig(
      GetTaskPushNotificationConfigRequest request, StreamObserver<TaskPushNotificationConfig> caller) {
    answer(caller, () -> {
      var config = configs.get(key(request.getTaskId(), request.getId()));
      if (config == null) throw Refusal.notFound("config " + request.getId());
      return config;
    });
  }

  @Override
  public void listTaskPushNotificationConfigs(
      ListTaskPushNotificationConfigsRequest request, StreamObserver<ListTaskPushNotificationConfigsResponse> caller) {
    answer(caller, () -> {
      var found = configs.values().stream().filter(config -> config.getTaskId().equals(request.getTaskId())).toList();
      return ListTaskPushNotificationConfigsResponse.newBuilder().addAllConfigs(found).build();
    });
  }

  @Override
  public void deleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest request, StreamObserver<Empty> caller) {
    answer(caller, () -> {
      configs.remove(key(request.getTaskId(), request.getId()));
      return Empty.getDefaultInstance();
    });
  }

  private WordTask begin(Message message) {
    if (!message.getTaskId().isEmpty()) {
      var asked = find(message.getTaskId());
      asked.begin(message, () -> WordAgent.say(asked, WordAgent.textOf(message)));
      return asked;
    }
    var id = UUID.randomUUID().toString();
    var contextId = message.getContextId().isEmpty() ? UUID.randomUUID().toString() : message.getContextId();
    var task = new WordTask(id, contextId);
    tasks.put(id, task);
    task.begin(message, () -> WordAgent.work(task, message));
    return task;
  }

  private WordTask find(String id) {
    var task = tasks.get(id);
    if (task == null) throw Refusal.notFound("task " + id);
    return task;
  }

  private WordTask running(String id, String reasonOtherwise) {
    var task = find(id);
    if (WordTask.isTerminal(task.snapshot().getStatus().getState())) {
      throw Refusal.of(Code.FAILED_PRECONDITION, reasonOtherwise, "the task is over");
    }
    return task;
  }

  private static String key(String taskId, String id) {
    return taskId + "/" + id;
  }

  private interface Work<T> {
    T run() throws InterruptedException;
  }

  private static <T> void answer(StreamObserver<T> caller, Work<T> work) {
    call(caller, () -> {
      caller.onNext(work.run());
      return null;
    });
  }

  private static void stream(StreamObserver<StreamResponse> caller, Work<WordTask> start, Predicate<TaskState> end) {
    call(caller, () -> {
      start.run().follow(caller::onNext, end);
      return null;
    });
  }

  private static void call(StreamObserver<?> caller, Work<Void> work) {
    try {
      work.run();
      caller.onCompleted();
    } catch (StatusRuntimeException refused) {
      caller.onError(refused);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }
}
