package interop.server;

import com.google.lf.a2a.v1.Artifact;
import com.google.lf.a2a.v1.Message;
import com.google.lf.a2a.v1.Part;
import com.google.lf.a2a.v1.StreamResponse;
import com.google.lf.a2a.v1.Task;
import com.google.lf.a2a.v1.TaskArtifactUpdateEvent;
import com.google.lf.a2a.v1.TaskState;
import com.google.lf.a2a.v1.TaskStatus;
import com.google.lf.a2a.v1.TaskStatusUpdateEvent;
import com.google.protobuf.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;

/** A task and the events that made it, so that any number of readers follow it from where they stand. */
final class WordTask {
  private static final Set<TaskState> TERMINAL = Set.of(
      TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_FAILED, TaskState.TASK_STATE_CANCELED, TaskState.TASK_STATE_REJECTED);

  private final List<StreamResponse> events = new ArrayList<>();
  private Task task;
  private Thread turn;

  WordTask(String id, String contextId) {
    task = Task.newBuilder().setId(id).setContextId(contextId).setStatus(status(TaskState.TASK_STATE_SUBMITTED, null)).build();
  }

  static boolean isTerminal(TaskState state) {
    return TERMINAL.contains(state);
  }

  static boolean isAtRest(TaskState state) {
    return isTerminal(state) || state == TaskState.TASK_STATE_INPUT_REQUIRED;
  }

  synchronized Task snapshot() {
    return task;
  }

  /** Gives a message to the agent, in a thread of its own. */
  synchronized void begin(Message message, Runnable work) {
    task = task.toBuilder().addHistory(message).build();
    if (isAtRest(task.getStatus().getState())) become(TaskState.TASK_STATE_WORKING, null);
    turn = new Thread(work);
    turn.setDaemon(true);
    turn.start();
  }

  synchronized void cancel() {
    become(TaskState.TASK_STATE_CANCELED, null);
    turn.interrupt();
  }

  /** Sets the state, unless the task is over. */
  synchronized void become(TaskState state, Message message) {
    if (isTerminal(task.getStatus().getState())) return;
    task = task.toBuilder().setStatus(status(state, message)).build();
    publish(StreamResponse.newBuilder().setStatusUpdate(TaskStatusUpdateEvent.newBuilder()
        .setTaskId(task.getId()).setContextId(task.getContextId()).setStatus(task.getStatus())));
  }

  /** Adds text to the task's one artifact. */
  synchronized void write(String text, boolean last) {
    if (isTerminal(task.getStatus().getState())) return;
    var chunk = Artifact.newBuilder().setArtifactId("text").addParts(Part.newBuilder().setText(text)).build();
    boolean append = task.getArtifactsCount() > 0;
    var whole = append ? task.getArtifacts(0).toBuilder().addAllParts(chunk.getPartsList()).build() : chunk;
    task = task.toBuilder().clearArtifacts().addArtifacts(whole).build();
    publish(StreamResponse.newBuilder().setArtifactUpdate(TaskArtifactUpdateEvent.newBuilder()
        .setTaskId(task.getId()).setContextId(task.getContextId()).setArtifact(chunk).setAppend(append).setLastChunk(last)));
  }

  /** Hands over the task as it stands and every event from then on, until it is in a state that ends the reading. */
  void follow(Consumer<StreamResponse> reader, Predicate<TaskState> end) throws InterruptedException {
    int next;
    synchronized (this) {
      next = events.size();
      reader.accept(StreamResponse.newBuilder().setTask(task).build());
    }
    for (List<StreamResponse> more = next(next, end); !more.isEmpty(); more = next(next, end)) {
      more.forEach(reader);
      next += more.size();
    }
  }

  /** The events from an index on, as soon as there are any; none where the task has ended the reading. */
  private synchronized List<StreamResponse> next(int from, Predicate<TaskState> end) throws InterruptedException {
    while (events.size() == from && !end.test(task.getStatus().getState())) wait();
    return List.copyOf(events.subList(from, events.size()));
  }

  private void publish(StreamResponse.Builder event) {
    events.add(event.build());
    notifyAll();
  }

  private static TaskStatus status(TaskState state, Message message) {
    var now = Instant.now();
    var status = TaskStatus.newBuilder().setState(state);
    status.setTimestamp(Timestamp.newBuilder().setSeconds(now.getEpochSecond()).setNanos(now.getNano()));
    if (message != null) status.setMessage(message);
    return status.build();
  }
}
