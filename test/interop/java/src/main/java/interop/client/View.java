package interop.client;

import com.google.lf.a2a.v1.Message;
import com.google.lf.a2a.v1.StreamResponse;
import com.google.lf.a2a.v1.Task;
import com.google.lf.a2a.v1.TaskArtifactUpdateEvent;

/** What a caller has seen of a task, folded from events. */
final class View {
  private final Task.Builder task = Task.newBuilder();
  private Message message;
  private int chunks;

  int chunks() {
    return chunks;
  }

  String taskId() {
    return task.getId();
  }

  Report report() {
    return message == null ? Report.ofTask(task.build()) : Report.ofMessage(message);
  }

  void fold(StreamResponse event) {
    switch (event.getPayloadCase()) {
      case MESSAGE -> message = event.getMessage();
      case TASK -> task.clear().mergeFrom(event.getTask());
      case STATUS_UPDATE -> task.setStatus(event.getStatusUpdate().getStatus());
      case ARTIFACT_UPDATE -> put(event.getArtifactUpdate());
      default -> throw new IllegalStateException("an event of another kind");
    }
  }

  private void put(TaskArtifactUpdateEvent update) {
    chunks++;
    var artifact = update.getArtifact();
    for (var known : task.getArtifactsBuilderList()) {
      if (!known.getArtifactId().equals(artifact.getArtifactId())) continue;
      if (update.getAppend()) known.addAllParts(artifact.getPartsList());
      else known.clear().mergeFrom(artifact);
      return;
    }
    task.addArtifacts(artifact);
  }
}
